/* Launches the kernel of counts.hpp.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing -o counts_main counts_main.cpp
 *     acpp -O2 -fno-strict-aliasing -o counts_main counts_main.cpp
 *     ./counts_main [number of the device]
 *
 * Made by PortaGPU VERSION. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#include "counts.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

namespace exported = portagpu_counts;

[[maybe_unused]] static constexpr std::size_t size = 3000;
static constexpr std::size_t x_shape[1] = {size};
static constexpr std::size_t bins_shape[1] = {size};

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

int main(int argc, char** argv) try {
    const sycl::device device = device_of(argc, argv);
    std::printf("device: %s\n", device.get_info<sycl::info::device::name>().c_str());
    require(device, sycl::aspect::usm_device_allocations, "usm_device_allocations");
    sycl::queue queue(device, sycl::property::queue::in_order());

    /* x */
    std::size_t x_count = 1;
    for (const std::size_t extent : x_shape) x_count *= extent;
    std::vector<float> x_data(x_count);
    for (std::size_t k = 0; k < x_count; k++) x_data[k] = 0.25f * (float)(k % 7);
    float* const x_memory = sycl::malloc_device<float>(x_count, queue);
    if (x_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(x_memory, x_data.data(), x_count * sizeof(float));

    /* bins */
    std::size_t bins_count = 1;
    for (const std::size_t extent : bins_shape) bins_count *= extent;
    std::vector<int> bins_data(bins_count);
    for (std::size_t k = 0; k < bins_count; k++) bins_data[k] = (int)(k % 7);
    int* const bins_memory = sycl::malloc_device<int>(bins_count, queue);
    if (bins_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(bins_memory, bins_data.data(), bins_count * sizeof(int));

    const sycl::range<3> block(1, 1, 256);
    const sycl::range<3> groups(
        1,
        1,
        (x_shape[0] + block[2] - 1) / block[2]);
    exported::launch(
        queue,
        groups,
        block,
        x_memory,
        (int)(x_shape[0]),
        bins_memory);
    queue.wait_and_throw();

    queue.memcpy(x_data.data(), x_memory, x_count * sizeof(float)).wait();
    double x_sum = 0;
    for (std::size_t k = 0; k < x_count; k++) x_sum += (double)x_data[k];
    std::printf("x: first %.9g, sum %.17g\n", (double)x_data[0], x_sum);
    queue.memcpy(bins_data.data(), bins_memory, bins_count * sizeof(int)).wait();
    double bins_sum = 0;
    for (std::size_t k = 0; k < bins_count; k++) bins_sum += (double)bins_data[k];
    std::printf("bins: first %.9g, sum %.17g\n", (double)bins_data[0], bins_sum);

    sycl::free(x_memory, queue);
    sycl::free(bins_memory, queue);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
