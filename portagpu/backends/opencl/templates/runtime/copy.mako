## one item for each element of so many lines: the last axis along the first dimension, all others along the second
__kernel void copy_strided(__global const ${view.type}* source, __global ${view.type}* target,
                           long lines, long source_offset, long target_offset
% for axis in view.axes:
                           , long n${axis}, long s${axis}, long t${axis}
% endfor
) {
    const long column = get_global_id(0);
    if (column >= n${view.axes[-1]}) return;
    for (long line = get_global_id(1); line < lines; line += get_global_size(1)) {
    long rest = line;
    long from = source_offset + column * s${view.axes[-1]};
    long to = target_offset + column * t${view.axes[-1]};
% for axis in list(reversed(view.axes[:-1])):
% if loop.last:
    from += rest * s${axis};
    to += rest * t${axis};
% else:
    const long index${axis} = rest - rest / n${axis} * n${axis};
    rest /= n${axis};
    from += index${axis} * s${axis};
    to += index${axis} * t${axis};
% endif
% endfor
% for unit in range(view.units):
    target[to + ${unit}] = source[from + ${unit}];
% endfor
    }
}
