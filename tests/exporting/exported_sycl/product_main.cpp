/* Launches the kernel of product.hpp.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing -o product_main product_main.cpp
 *     acpp -O2 -fno-strict-aliasing -o product_main product_main.cpp
 *     ./product_main [number of the device]
 *
 * Made by PortaGPU VERSION. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#include "product.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

namespace exported = portagpu_product;

[[maybe_unused]] static constexpr std::size_t size = 21;
static constexpr std::size_t a_shape[2] = {size, size};
static constexpr std::size_t b_shape[2] = {size, size};
static constexpr std::size_t c_shape[2] = {size, size};

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

    /* a */
    std::size_t a_count = 1;
    for (const std::size_t extent : a_shape) a_count *= extent;
    std::vector<float> a_data(a_count);
    for (std::size_t k = 0; k < a_count; k++) a_data[k] = 0.25f * (float)(k % 7);
    float* const a_memory = sycl::malloc_device<float>(a_count, queue);
    if (a_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(a_memory, a_data.data(), a_count * sizeof(float));

    /* b */
    std::size_t b_count = 1;
    for (const std::size_t extent : b_shape) b_count *= extent;
    std::vector<float> b_data(b_count);
    for (std::size_t k = 0; k < b_count; k++) b_data[k] = 0.25f * (float)(k % 7);
    float* const b_memory = sycl::malloc_device<float>(b_count, queue);
    if (b_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(b_memory, b_data.data(), b_count * sizeof(float));

    /* c */
    std::size_t c_count = 1;
    for (const std::size_t extent : c_shape) c_count *= extent;
    std::vector<float> c_data(c_count);
    for (std::size_t k = 0; k < c_count; k++) c_data[k] = 0.25f * (float)(k % 7);
    float* const c_memory = sycl::malloc_device<float>(c_count, queue);
    if (c_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(c_memory, c_data.data(), c_count * sizeof(float));

    const sycl::range<3> block(1, 8, 8);
    const sycl::range<3> groups(
        1,
        (a_shape[0] + block[1] - 1) / block[1],
        (a_shape[1] + block[2] - 1) / block[2]);
    exported::launch(
        queue,
        groups,
        block,
        a_memory,
        (int)(a_shape[0]),
        (int)(a_shape[1]),
        b_memory,
        (int)(b_shape[0]),
        (int)(b_shape[1]),
        c_memory,
        (int)(c_shape[0]),
        (int)(c_shape[1]),
        (int)(c_shape[1]),
        (int)(1));
    queue.wait_and_throw();

    queue.memcpy(a_data.data(), a_memory, a_count * sizeof(float)).wait();
    double a_sum = 0;
    for (std::size_t k = 0; k < a_count; k++) a_sum += (double)a_data[k];
    std::printf("a: first %.9g, sum %.17g\n", (double)a_data[0], a_sum);
    queue.memcpy(b_data.data(), b_memory, b_count * sizeof(float)).wait();
    double b_sum = 0;
    for (std::size_t k = 0; k < b_count; k++) b_sum += (double)b_data[k];
    std::printf("b: first %.9g, sum %.17g\n", (double)b_data[0], b_sum);
    queue.memcpy(c_data.data(), c_memory, c_count * sizeof(float)).wait();
    double c_sum = 0;
    for (std::size_t k = 0; k < c_count; k++) c_sum += (double)c_data[k];
    std::printf("c: first %.9g, sum %.17g\n", (double)c_data[0], c_sum);

    sycl::free(a_memory, queue);
    sycl::free(b_memory, queue);
    sycl::free(c_memory, queue);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
