// A thread's place in its grid, as the loops of a driver would give it: values in memory. A barrier ends such a loop.
extern __constant size_t pg_place[8][3];
#define get_global_id(axis) pg_place[0][axis]
#define get_local_id(axis) pg_place[1][axis]
#define get_group_id(axis) pg_place[2][axis]
#define get_global_size(axis) pg_place[3][axis]
#define get_local_size(axis) pg_place[4][axis]
#define get_num_groups(axis) pg_place[5][axis]
#define get_global_offset(axis) pg_place[6][axis]
#define get_work_dim() ((uint)pg_place[7][0])
#define barrier(flags) __asm__ volatile("" ::: "memory")
#define mem_fence(flags) __sync_synchronize()
#define read_mem_fence(flags) __sync_synchronize()
#define write_mem_fence(flags) __sync_synchronize()
#define prefetch(place, count) __builtin_prefetch(place)
