"""Lists SYCL's devices, as the survey has found them."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.backends.sycl.announcement import INSTALL, NAME
from portagpu.backends.sycl.drivers.installed import find_runtime
from portagpu.backends.sycl.drivers.quirks import hints_for, remedy_for
from portagpu.backends.sycl.identity import DeviceName
from portagpu.backends.sycl.probing.assemble import capabilities_of
from portagpu.backends.sycl.survey import Survey, SurveyedDevice, surveyed
from portagpu.device.capabilities import DeviceType
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery
from portagpu.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Unused:
    """A library that serves no device, why, and what helps."""

    library: str
    problem: str | None
    remedy: str | None


def discover(settings: Settings, *, fresh: bool) -> Discovery:
    """List every device now; see `portagpu.device.sources.DeviceSource`."""
    return Discovery(records=tuple(_record(n, one) for n, one in enumerate(survey_now(settings, fresh=fresh).devices)))


def survey_now(settings: Settings, *, fresh: bool = False) -> Survey:
    """The survey; without a run time it says what to install."""
    runtime = find_runtime()
    if runtime is None:
        return Survey(problem="the SYCL run time is not installed", remedy=INSTALL)
    return surveyed(runtime, settings, fresh=fresh)


def unused_drivers(settings: Settings) -> list[Unused]:
    """The run time, where it lists no device."""
    survey = survey_now(settings)
    if survey.problem is None:
        return []
    return [Unused(library="libsycl", problem=survey.problem, remedy=survey.remedy)]


def _record(index: int, surveyed_device: SurveyedDevice) -> DeviceRecord:
    facts, problem, capabilities = surveyed_device.facts, surveyed_device.problem, None
    kind, platform = facts.get("type", "accelerator"), facts.get("platform", "")
    if problem is None:
        try:
            capabilities = capabilities_of(facts, surveyed_device.answers, hints_for(platform, kind))
        except (KeyError, TypeError, ValueError) as error:
            problem = f"the driver does not describe its device: {error}"
    name = DeviceName(
        interface=facts.get("interface", ""),
        platform=platform,
        name=facts.get("name", ""),
        driver_version=facts.get("driver_version", ""),
        ordinal=surveyed_device.ordinal,
    )
    return DeviceRecord(
        index=index,
        name=name.name,
        vendor=facts.get("vendor", ""),
        platform=platform,
        driver_version=name.driver_version,
        device_type=DeviceType(kind),
        native=name,
        capabilities=capabilities,
        problem=problem,
        remedy=None if problem is None else remedy_for(problem),
        backend=NAME,
        version=facts.get("version", ""),
        corrects_errors=facts.get("corrects_errors") == "1",
    )
