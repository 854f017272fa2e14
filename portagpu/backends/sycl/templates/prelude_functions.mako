% if "pg_load" in view.words:
// a vector from memory that is aligned as its elements are
template <class V, class T> static inline V pg_load(const T* place) {
    V result;
    __builtin_memcpy(&result, place, V::size() * sizeof(T));
    return result;
}
% endif
% if "pg_store" in view.words:
template <class V, class T> static inline void pg_store(V value, T* place) {
    __builtin_memcpy(place, &value, V::size() * sizeof(T));
}
% endif
% if "pg_unpack" in view.words:
// a number from memory that is not aligned
template <class T> static inline T pg_unpack(const unsigned char* place) {
    T result;
    __builtin_memcpy(&result, place, sizeof(T));
    return result;
}
% endif
% if "pg_pack" in view.words:
template <class T> static inline void pg_pack(T value, unsigned char* place) {
    __builtin_memcpy(place, &value, sizeof(T));
}
% endif
% if "pg_rounded" in view.words:
// a number as another type, rounded in a direction; what SYCL has for that rounds integers to nearest
template <class T, sycl::rounding_mode R, class S> static inline T pg_rounded(S x) {
% if view.is_plain:
#if defined(SYCL_IMPLEMENTATION_ONEAPI) && defined(__SYCL_DEVICE_ONLY__)
% endif
% for kind in ("float", "double"):
% for direction in ("rte", "rtn", "rtp", "rtz"):
    if constexpr (std::is_integral_v<S> && std::is_same_v<T, ${kind}> && R == sycl::rounding_mode::${direction}) {
        if constexpr (std::is_signed_v<S>) return __spirv_ConvertSToF_R${kind}_${direction}(x);
        else return __spirv_ConvertUToF_R${kind}_${direction}(x);
    }
% endfor
% endfor
% if view.is_plain:
#endif
% endif
    return sycl::vec<S, 1>(x).template convert<T, R>()[0];
}
% endif
% for space, scope in (("global", "device"), ("local", "work_group")):
% if f"pg_atomic_{space}" in view.words:
template <class T>
using pg_atomic_${space} = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::${scope},
                                         sycl::access::address_space::${space}_space>;
% endif
% endfor
