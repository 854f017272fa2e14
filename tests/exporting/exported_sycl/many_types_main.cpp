/* Launches the kernel of many_types.hpp.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing -o many_types_main many_types_main.cpp
 *     acpp -O2 -fno-strict-aliasing -o many_types_main many_types_main.cpp
 *     ./many_types_main [number of the device]
 *
 * Made by PortaGPU VERSION. Sizes and numbers are below; what the arrays begin with is written where they are made.
 */
#include "many_types.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

namespace exported = portagpu_many_types;

[[maybe_unused]] static constexpr std::size_t size = 300;
static const double w_value[2] = {(double)1.0, (double)-2.0};
static constexpr std::size_t h_shape[1] = {size};
static constexpr std::size_t b_shape[1] = {size};
static constexpr std::size_t z_shape[1] = {size};
static constexpr std::size_t flags_shape[1] = {size};
static constexpr std::size_t counts_shape[1] = {size};

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

int main(int argc, char** argv) try {
    const sycl::device device = device_of(argc, argv);
    std::printf("device: %s\n", device.get_info<sycl::info::device::name>().c_str());
    require(device, sycl::aspect::usm_device_allocations, "usm_device_allocations");
    require(device, sycl::aspect::fp16, "fp16");
    require(device, sycl::aspect::fp64, "fp64");
    require(device, sycl::aspect::atomic64, "atomic64");
    sycl::queue queue(device, sycl::property::queue::in_order());

    /* h */
    std::size_t h_count = 1;
    for (const std::size_t extent : h_shape) h_count *= extent;
    std::vector<sycl::half> h_data(h_count);
    for (std::size_t k = 0; k < h_count; k++) h_data[k] = 0.25f * (float)(k % 7);
    sycl::half* const h_memory = sycl::malloc_device<sycl::half>(h_count, queue);
    if (h_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(h_memory, h_data.data(), h_count * sizeof(sycl::half));

    /* b */
    std::size_t b_count = 1;
    for (const std::size_t extent : b_shape) b_count *= extent;
    std::vector<unsigned short> b_data(b_count);
    for (std::size_t k = 0; k < b_count; k++) b_data[k] = bfloat16_bits(0.25f * (float)(k % 7));
    unsigned short* const b_memory = sycl::malloc_device<unsigned short>(b_count, queue);
    if (b_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(b_memory, b_data.data(), b_count * sizeof(unsigned short));

    /* z */
    std::size_t z_count = 2;
    for (const std::size_t extent : z_shape) z_count *= extent;
    std::vector<float> z_data(z_count);
    for (std::size_t k = 0; k < z_count; k++) z_data[k] = 0.25f * (float)(k % 7);
    float* const z_memory = sycl::malloc_device<float>(z_count, queue);
    if (z_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(z_memory, z_data.data(), z_count * sizeof(float));

    /* flags */
    std::size_t flags_count = 1;
    for (const std::size_t extent : flags_shape) flags_count *= extent;
    std::vector<unsigned char> flags_data(flags_count);
    for (std::size_t k = 0; k < flags_count; k++) flags_data[k] = (unsigned char)(k % 2);
    unsigned char* const flags_memory = sycl::malloc_device<unsigned char>(flags_count, queue);
    if (flags_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(flags_memory, flags_data.data(), flags_count * sizeof(unsigned char));

    /* counts */
    std::size_t counts_count = 1;
    for (const std::size_t extent : counts_shape) counts_count *= extent;
    std::vector<long> counts_data(counts_count);
    for (std::size_t k = 0; k < counts_count; k++) counts_data[k] = (long)(k % 7);
    long* const counts_memory = sycl::malloc_device<long>(counts_count, queue);
    if (counts_memory == nullptr) throw std::bad_alloc();
    queue.memcpy(counts_memory, counts_data.data(), counts_count * sizeof(long));

    const sycl::range<3> block(1, 1, 256);
    const sycl::range<3> groups(
        1,
        1,
        (h_shape[0] + block[2] - 1) / block[2]);
    exported::launch(
        queue,
        groups,
        block,
        reinterpret_cast<exported::ushort*>(h_memory),
        (int)(h_shape[0]),
        reinterpret_cast<exported::ushort*>(b_memory),
        (int)(1),
        reinterpret_cast<exported::float2*>(z_memory),
        reinterpret_cast<exported::uchar*>(flags_memory),
        (int)(1),
        counts_memory,
        exported::double2(w_value[0], w_value[1]));
    queue.wait_and_throw();

    queue.memcpy(h_data.data(), h_memory, h_count * sizeof(sycl::half)).wait();
    double h_sum = 0;
    for (std::size_t k = 0; k < h_count; k++) h_sum += (double)h_data[k];
    std::printf("h: first %.9g, sum %.17g\n", (double)h_data[0], h_sum);
    queue.memcpy(b_data.data(), b_memory, b_count * sizeof(unsigned short)).wait();
    double b_sum = 0;
    for (std::size_t k = 0; k < b_count; k++) b_sum += bfloat16_value(b_data[k]);
    std::printf("b: first %.9g, sum %.17g\n", bfloat16_value(b_data[0]), b_sum);
    queue.memcpy(z_data.data(), z_memory, z_count * sizeof(float)).wait();
    double z_sum = 0;
    for (std::size_t k = 0; k < z_count; k++) z_sum += (double)z_data[k];
    std::printf("z: first %.9g, sum %.17g\n", (double)z_data[0], z_sum);
    queue.memcpy(flags_data.data(), flags_memory, flags_count * sizeof(unsigned char)).wait();
    double flags_sum = 0;
    for (std::size_t k = 0; k < flags_count; k++) flags_sum += (double)flags_data[k];
    std::printf("flags: first %.9g, sum %.17g\n", (double)flags_data[0], flags_sum);
    queue.memcpy(counts_data.data(), counts_memory, counts_count * sizeof(long)).wait();
    double counts_sum = 0;
    for (std::size_t k = 0; k < counts_count; k++) counts_sum += (double)counts_data[k];
    std::printf("counts: first %.9g, sum %.17g\n", (double)counts_data[0], counts_sum);

    sycl::free(h_memory, queue);
    sycl::free(b_memory, queue);
    sycl::free(z_memory, queue);
    sycl::free(flags_memory, queue);
    sycl::free(counts_memory, queue);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
