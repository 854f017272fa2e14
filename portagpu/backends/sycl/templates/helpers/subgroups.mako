<%def name="block_read(h)">
static inline ${h.type} ${h.name}(const ${h.part}* place) {
    const auto group = syclext::this_work_item::get_sub_group();
    const uint lane = group.get_local_linear_id(), size = group.get_max_local_range()[0];
% if h.lanes:
    ${h.type} result;
% for k in range(int(h.lanes)):
    result[${k}] = place[lane + ${k} * size];
% endfor
    return result;
% else:
    return place[lane];
% endif
}
</%def>
<%def name="block_write(h)">
static inline void ${h.name}(${h.part}* place, ${h.type} value) {
    const auto group = syclext::this_work_item::get_sub_group();
    const uint lane = group.get_local_linear_id(), size = group.get_max_local_range()[0];
% if h.lanes:
% for k in range(int(h.lanes)):
    place[lane + ${k} * size] = value[${k}];
% endfor
% else:
    place[lane] = value;
% endif
}
</%def>
