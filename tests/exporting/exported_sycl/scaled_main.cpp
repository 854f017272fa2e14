/* Launches the kernel of scaled.hpp.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing -o scaled_main scaled_main.cpp
 *     acpp -O2 -fno-strict-aliasing -o scaled_main scaled_main.cpp
 *     ./scaled_main [number of the device]
 *
 * Made by PortaGPU VERSION. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#include "scaled.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

namespace exported = portagpu_scaled;

[[maybe_unused]] static constexpr std::size_t size = 1000;
static const float factor_value = (float)3.0;
static const int n_value = (int)size;
static constexpr std::size_t x_shape[1] = {size};
static constexpr std::size_t y_shape[1] = {size};

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

    /* y */
    std::size_t y_count = 1;
    for (const std::size_t extent : y_shape) y_count *= extent;
    std::vector<float> y_data(y_count);
    for (std::size_t k = 0; k < y_count; k++) y_data[k] = 0.25f * (float)(k % 7);
    float* const y_memory = sycl::malloc_device<float>(y_count, queue);
    if (y_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(y_memory, y_data.data(), y_count * sizeof(float));

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
        y_memory,
        (int)(y_shape[0]),
        (float)factor_value,
        (int)n_value);
    queue.wait_and_throw();

    queue.memcpy(x_data.data(), x_memory, x_count * sizeof(float)).wait();
    double x_sum = 0;
    for (std::size_t k = 0; k < x_count; k++) x_sum += (double)x_data[k];
    std::printf("x: first %.9g, sum %.17g\n", (double)x_data[0], x_sum);
    queue.memcpy(y_data.data(), y_memory, y_count * sizeof(float)).wait();
    double y_sum = 0;
    for (std::size_t k = 0; k < y_count; k++) y_sum += (double)y_data[k];
    std::printf("y: first %.9g, sum %.17g\n", (double)y_data[0], y_sum);

    sycl::free(x_memory, queue);
    sycl::free(y_memory, queue);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
