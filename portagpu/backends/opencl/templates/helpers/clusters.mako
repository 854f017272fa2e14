<%!
    REGISTERS = {8: "h", 16: "h", 32: "r", 64: "l"}
    WORDS = {8: "ushort", 16: "ushort", 32: "uint", 64: "ulong"}
    ADDRESS = '"r"((uint)(ulong)place)'
%>\
<%def name="cluster_rank(h)">
static inline int ${h.name}(void) {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
</%def>\
<%def name="map_shared_rank(h)">
static inline __local void* ${h.name}(__local void* place, uint rank) {
    uint there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : ${ADDRESS}, "r"(rank));
    return (__local void*)(ulong)there;
}
</%def>\
<%def name="cluster_load(h)">
static inline ${h.type} ${h.name}(__local void* place) {
    ${WORDS[h.width]} bits;
    asm volatile("ld.shared::cluster.b${h.width} %0, [%1];" : "=${REGISTERS[h.width]}"(bits) : ${ADDRESS} : "memory");
    return as_${h.type}((${h.unsigned})bits);
}
</%def>\
<%def name="cluster_store(h)">
static inline void ${h.name}(__local void* place, ${h.type} value) {
    const ${WORDS[h.width]} bits = as_${h.unsigned}(value);
    asm volatile("st.shared::cluster.b${h.width} [%0], %1;" :: ${ADDRESS}, "${REGISTERS[h.width]}"(bits) : "memory");
}
</%def>\
<%def name="cluster_atomic(h)">
<%
    kind = h.ptx
    if h.variant in ("and", "or", "xor", "exch", "cas"): kind = f"b{h.width}"
    elif h.variant == "add" and kind == "s64": kind = "u64"
    register = h.register if kind[0] in "fsu" else REGISTERS[h.width]
    word = h.type if kind[0] in "fsu" else WORDS[h.width]
    given = [f'"{register}"(as_{word}({name}))' for name in (("expected", "value") if h.variant == "cas" else ("value",))]
%>\
static inline ${h.type} ${h.name}(__local void* place, ${f"{h.type} expected, " if h.variant == "cas" else ""}${h.type} value) {
    ${word} old;
    asm volatile("atom.shared::cluster.${h.variant}.${kind} %0, [%1], ${"%2, %3" if h.variant == "cas" else "%2"};"
                 : "=${register}"(old) : ${ADDRESS}, ${", ".join(given)} : "memory");
    return as_${h.type}(old);
}
</%def>\
