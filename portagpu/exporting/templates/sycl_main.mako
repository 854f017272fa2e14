/* Launches the kernel of ${view.export.name}.hpp.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing -o ${view.export.name}_main ${view.export.name}_main.cpp
 *     acpp -O2 -fno-strict-aliasing -o ${view.export.name}_main ${view.export.name}_main.cpp
 *     ./${view.export.name}_main [number of the device]
 *
 * Made by PortaGPU ${view.version}. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#include "${view.export.name}.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

namespace exported = ${view.namespace};

[[maybe_unused]] static constexpr std::size_t size = ${view.export.size};
% for kind, name, value in view.numbers:
static const ${kind} ${name} = ${value};
% endfor
% if view.has_dynamic:
static constexpr std::size_t shared_bytes = ${view.export.shared};
% endif
% for array in view.arrays:
% if array.ndim:
static constexpr std::size_t ${array.name}_shape[${array.ndim}] = {${", ".join(["size"] * array.ndim)}};
% endif
% endfor
% if view.faults:
static const char* const faults[] = {
% for fault in view.faults:
    "${fault}",
% endfor
};
% endif

static sycl::device device_of(int argc, char** argv) {
    if (argc < 2) return sycl::device(sycl::default_selector_v);
    const std::vector<sycl::device> devices = sycl::device::get_devices();
    const unsigned long number = std::strtoul(argv[1], nullptr, 10);
    if (number < devices.size()) return devices[number];
    std::fprintf(stderr, "there is no such SYCL device\n");
    std::exit(1);
}

static void require(const sycl::device& device, sycl::aspect aspect, const char* name) {
    if (device.has(aspect)) return;
    std::fprintf(stderr, "the device does not have aspect::%s\n", name);
    std::exit(1);
}

% if any(a.fill.startswith("bfloat16_") for a in view.arrays):
/* The upper half of a float. */
static unsigned short bfloat16_bits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return (unsigned short)(bits >> 16);
}

static double bfloat16_value(unsigned short half) {
    const std::uint32_t bits = (std::uint32_t)half << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

% endif
int main(int argc, char** argv) try {
    const sycl::device device = device_of(argc, argv);
    std::printf("device: %s\n", device.get_info<sycl::info::device::name>().c_str());
% for aspect in ("usm_device_allocations", *view.aspects):
    require(device, sycl::aspect::${aspect}, "${aspect}");
% endfor
    sycl::queue queue(device, sycl::property::queue::in_order());

% for array in view.arrays:
    /* ${array.name} */
    std::size_t ${array.name}_count = ${array.parts};
% if array.ndim:
    for (const std::size_t extent : ${array.name}_shape) ${array.name}_count *= extent;
% endif
    std::vector<${array.type}> ${array.name}_data(${array.name}_count);
    for (std::size_t k = 0; k < ${array.name}_count; k++) ${array.name}_data[k] = ${array.fill};
    ${array.type}* const ${array.name}_memory = sycl::malloc_device<${array.type}>(${array.name}_count, queue);
    if (${array.name}_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(${array.name}_memory, ${array.name}_data.data(), ${array.name}_count * sizeof(${array.type}));

% endfor
% if view.faults:
    long raised[${view.fault_size}] = {0};
    long* const raised_memory = sycl::malloc_device<long>(${view.fault_size}, queue);
    if (raised_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(raised_memory, raised, sizeof raised);

% endif
    const sycl::range<3> block(${", ".join(map(str, view.block))});
    const sycl::range<3> groups(
% for axis, extent in enumerate(view.extents):
        ${"1" if extent == "1" else f"({extent} + block[{axis}] - 1) / block[{axis}]"}${")" if axis == 2 else ""}${";" if axis == 2 else ","}
% endfor
    exported::launch(
        ${",\n        ".join(["queue", "groups", *([] if view.export.kernel_source.block_dim else ["block"]), *(["shared_bytes"] if view.has_dynamic else []), *view.passed])});
    queue.wait_and_throw();

% if view.faults:
    queue.memcpy(raised, raised_memory, sizeof raised).wait();
    if (raised[0] != 0) {
        std::fprintf(stderr, "the kernel raised %s\n", faults[raised[0] - 1]);
        return 1;
    }
% endif
% for array in view.arrays:
    queue.memcpy(${array.name}_data.data(), ${array.name}_memory, ${array.name}_count * sizeof(${array.type})).wait();
    double ${array.name}_sum = 0;
    for (std::size_t k = 0; k < ${array.name}_count; k++) ${array.name}_sum += ${array.read.format(array.name + "_data[k]")};
    std::printf("${array.name}: first %.9g, sum %.17g\n", ${array.read.format(array.name + "_data[0]")}, ${array.name}_sum);
% endfor

% for array in view.arrays:
    sycl::free(${array.name}_memory, queue);
% endfor
% if view.faults:
    sycl::free(raised_memory, queue);
% endif
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
