"""A worker of Dask's on a machine that the environment names: python planted_worker.py ADDRESS"""

from __future__ import annotations

import asyncio
import os
import sys

from distributed import Worker
from planted_suite import MACHINE

from portagpu.bench.cluster import worker
from portagpu.device import working_devices


async def serve(address):
    async with Worker(address, nthreads=1, dashboard=False, silence_logs=50) as own:
        await own.finished()


if __name__ == "__main__":
    worker._machine = lambda: os.environ[MACHINE]
    working_devices()  # before the clock of any limit runs
    asyncio.run(serve(sys.argv[1]))
