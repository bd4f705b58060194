/* SPDX-License-Identifier: MIT */
#include "base/isa.h"

#if defined(__x86_64__)

#include <cpuid.h>

/* Leaf 7.1 EAX bit 4 (Intel SDM volume 2, CPUID). */
bool st_isa_has_avx_vnni(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}

const char *st_isa_name(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512vnni") ? "AVX-512 VNNI" : "AVX-512";
    if (__builtin_cpu_supports("avx2")) return st_isa_has_avx_vnni() ? "AVX2 VNNI" : "AVX2";
    return __builtin_cpu_supports("avx") ? "AVX" : "SSE2";
}

#elif defined(__aarch64__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

const char *st_isa_name(void) {
    if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) return "NEON i8mm";
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? "NEON dotprod" : "NEON";
}

#else

const char *st_isa_name(void) {
    return "scalar";
}

#endif
