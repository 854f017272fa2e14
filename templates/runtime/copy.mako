__kernel void copy_strided(__global const ${view.type}* source, __global ${view.type}* target,
                           long size, long source_offset, long target_offset
% for axis in view.axes:
                           , long n${axis}, long s${axis}, long t${axis}
% endfor
) {
    long rest = get_global_id(0);
    if (rest >= size) return;
    long from = source_offset;
    long to = target_offset;
    long index;
% for axis in reversed(view.axes):
    index = rest - rest / n${axis} * n${axis};
    rest /= n${axis};
    from += index * s${axis};
    to += index * t${axis};
% endfor
    for (int unit = 0; unit < ${view.units}; unit += 1) target[to + unit] = source[from + unit];
}
