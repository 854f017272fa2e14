/* ${view.title}
 *
 * SYCL 2020 of the kernel ${view.export.name} of ${view.export.file}, made by PortaGPU ${view.version}. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * ${view.namespace}::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
% if view.export.kernel_source.block_dim is not None:
 * Work-groups have ${" x ".join(map(str, view.export.kernel_source.block_dim))} work-items, by (x, y, z).
% endif
% if view.export.kernel_source.max_threads is not None:
 * Work-groups have at most ${view.export.kernel_source.max_threads} work-items.
% endif
% if view.aspects:
 * The device needs ${" and ".join(f"aspect::{a}" for a in view.aspects)}.
% endif
 * Arguments, behind the queue and extents${" and the bytes of dynamic shared memory" if view.has_dynamic else ""}:
% for number, meaning in enumerate(view.meanings):
 *   ${number}: ${meaning}
% endfor
 */
#ifndef ${view.guard}
#define ${view.guard}
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC system_header  // generated text has names and values that are not used
#endif
${view.source}
#endif
