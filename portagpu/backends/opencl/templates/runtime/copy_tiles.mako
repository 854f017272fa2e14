## for CPUs: an item copies a tile, lines one after the other; loops whose steps are known become vectors
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void copy_strided(__global const ${view.type}* restrict source, __global ${view.type}* restrict target,
                  long lines, long source_offset, long target_offset
% for axis in view.axes:
                  , long n${axis}, long s${axis}, long t${axis}
% endfor
                  , long tile_lines, long tile_columns
) {
<% last = view.axes[-1] %>
    const long first = (long)get_group_id(0) * tile_columns;
    const long count = min(tile_columns, n${last} - first);
    const long begin = (long)get_group_id(1) * tile_lines;
    const long end = min(begin + tile_lines, lines);
    for (long line = begin; line < end; line++) {
    long rest = line;
    long from = source_offset + first * s${last};
    long to = target_offset + first * t${last};
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
    __global const ${view.type}* restrict in = source + from;
    __global ${view.type}* restrict out = target + to;
    if (s${last} == ${view.units} && t${last} == ${view.units}) {
        for (long k = 0; k < count * ${view.units}; k++) out[k] = in[k];
% if view.units == 1:
    } else if (s${last} == 0 && t${last} == 1) {
        const ${view.type} value = in[0];
        for (long k = 0; k < count; k++) out[k] = value;
    } else if (t${last} == 1) {
        for (long k = 0; k < count; k++) out[k] = in[k * s${last}];
% endif
    } else {
        for (long k = 0; k < count; k++) {
% for unit in range(view.units):
            out[k * t${last} + ${unit}] = in[k * s${last} + ${unit}];
% endfor
        }
    }
    }
}
