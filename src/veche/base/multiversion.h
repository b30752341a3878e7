#pragma once

// VECHE_MULTIVERSION marks a loop over long vectors: compiled for several instruction sets, the best one
// chosen at start-up, so that one binary is fast everywhere. Sanitizers cannot start programs that choose
// functions that early.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define VECHE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECHE_MULTIVERSION
#endif
