/* Launches the kernel of turned.hpp.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing -o turned_main turned_main.cpp
 *     acpp -O2 -fno-strict-aliasing -o turned_main turned_main.cpp
 *     ./turned_main [number of the device]
 *
 * Made by PortaGPU VERSION. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#include "turned.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

namespace exported = portagpu_turned;

[[maybe_unused]] static constexpr std::size_t size = 45;
static constexpr std::size_t a_shape[2] = {size, size};
static constexpr std::size_t z_shape[2] = {size, size};

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

    /* z */
    std::size_t z_count = 2;
    for (const std::size_t extent : z_shape) z_count *= extent;
    std::vector<float> z_data(z_count);
    for (std::size_t k = 0; k < z_count; k++) z_data[k] = 0.25f * (float)(k % 7);
    float* const z_memory = sycl::malloc_device<float>(z_count, queue);
    if (z_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(z_memory, z_data.data(), z_count * sizeof(float));

    const sycl::range<3> block(1, 4, 16);
    const sycl::range<3> groups(
        1,
        (a_shape[0] + block[1] - 1) / block[1],
        (a_shape[1] + block[2] - 1) / block[2]);
    exported::launch(
        queue,
        groups,
        a_memory,
        (int)(a_shape[0]),
        (int)(a_shape[1]),
        reinterpret_cast<exported::float2*>(z_memory),
        (int)(z_shape[1]));
    queue.wait_and_throw();

    queue.memcpy(a_data.data(), a_memory, a_count * sizeof(float)).wait();
    double a_sum = 0;
    for (std::size_t k = 0; k < a_count; k++) a_sum += (double)a_data[k];
    std::printf("a: first %.9g, sum %.17g\n", (double)a_data[0], a_sum);
    queue.memcpy(z_data.data(), z_memory, z_count * sizeof(float)).wait();
    double z_sum = 0;
    for (std::size_t k = 0; k < z_count; k++) z_sum += (double)z_data[k];
    std::printf("z: first %.9g, sum %.17g\n", (double)z_data[0], z_sum);

    sycl::free(a_memory, queue);
    sycl::free(z_memory, queue);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
