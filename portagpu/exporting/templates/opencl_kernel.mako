/* ${view.title}
 *
 * OpenCL C of the kernel ${view.export.name} of ${view.export.file}, made by PortaGPU ${view.version}. Lines of Python are comments.
% if view.export.kernel_source.block_dim is not None:
 * Work-groups have ${" x ".join(map(str, view.export.kernel_source.block_dim))} work-items.
% endif
% if view.export.kernel_source.max_threads is not None:
 * Work-groups have at most ${view.export.kernel_source.max_threads} work-items.
% endif
 * Arguments, in order:
% for number, meaning in enumerate(view.meanings):
 *   ${number}: ${meaning}
% endfor
 */
${view.source}
