// NVIDIA's compiler takes inline assembly.
#define asm __asm__
