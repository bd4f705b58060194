/* SPDX-License-Identifier: MIT
 * Which kernel tables exist in this build, which of them this CPU can run, and the choice among them. */
#include "base/buf.h"
#include "base/error.h"
#include "base/isa.h"
#include "base/log.h"
#include "kern/format.h"

#include <string.h>
#include <strings.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

static bool runs_always(void) {
    return true;
}

#if defined(__x86_64__)
/* The compiler's test of AVX2 includes the operating system's saving of wide registers; it has no name for F16C. */
static bool runs_avx2(void) {
    unsigned a, b, c, d;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return false;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool runs_avxvnni(void) {
    return runs_avx2() && st_isa_has_avx_vnni();
}

/* The integer dot product and what is used around it: Intel since Cascade Lake, AMD since Zen 4. */
static bool runs_avx512(void) {
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
}
#elif defined(__aarch64__)
static bool runs_dotprod(void) {
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}
static bool runs_i8mm(void) {
    return runs_dotprod() && (getauxval(AT_HWCAP2) & HWCAP2_I8MM);
}
#endif

/* In order of preference, the best last. */
static const struct entry {
    const st_kern *table;
    bool (*runs)(void);
    const char *needs; /* of the processor */
} entries[] = {
    {&st_kern_scalar, runs_always, ""},
#if defined(__x86_64__)
    {&st_kern_avx2, runs_avx2, "AVX2, FMA, F16C and BMI2"},
    {&st_kern_avxvnni, runs_avxvnni, "AVX2 and AVX-VNNI"},
    {&st_kern_avx512, runs_avx512, "AVX2 and AVX-512 F, BW, DQ, VL and VNNI"},
#elif defined(__aarch64__)
    {&st_kern_neon, runs_always, ""},
    {&st_kern_dotprod, runs_dotprod, "the dot product instructions (asimddp)"},
    {&st_kern_i8mm, runs_i8mm, "the matrix instructions (i8mm)"},
#endif
};
enum { N_ENTRIES = sizeof(entries) / sizeof(entries[0]) };

size_t st_kern_list(const st_kern **tables, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < N_ENTRIES && n < max; i++)
        if (entries[i].runs()) tables[n++] = entries[i].table;
    return n;
}

static int fail_unknown(const char *mask, stretto_error *err) {
    st_buf names = {0};
    for (size_t i = 0; i < N_ENTRIES; i++) st_buf_printf(&names, "%s%s", i ? ", " : "", entries[i].table->name);
    const int code = st_fail(err, STRETTO_E_USAGE, "no kernels named \"%s\": this build has %s", mask,
                             names.failed ? "others" : names.data);
    st_buf_free(&names);
    return code;
}

int st_kern_select(const st_kern **out, const char *mask, stretto_error *err) {
    const bool named = mask && *mask;
    *out = NULL;
    for (size_t i = N_ENTRIES; i-- > 0;) {
        if (named && strcasecmp(mask, entries[i].table->name) != 0) continue;
        if (entries[i].runs()) {
            *out = entries[i].table;
            return STRETTO_OK;
        }
        if (named)
            return st_fail(err, STRETTO_E_USAGE, "this CPU cannot run the kernels named \"%s\": they need %s", mask,
                           entries[i].needs);
    }
    return fail_unknown(mask, err);
}

/* What a CPU lacks for which a slow table is the best; NULL where the table is fast. */
static const char *lacked(const st_kern *kern) {
#if defined(__aarch64__)
    if (kern == &st_kern_neon) return "dot products of bytes (dotprod)";
    return kern == &st_kern_scalar ? "NEON" : NULL;
#else
    return kern == &st_kern_scalar ? "AVX2" : NULL;
#endif
}

void st_kern_warn_slow(const st_kern *kern, const st_log *log) {
    const st_kern *tables[N_ENTRIES];
    const st_kern *best = tables[st_kern_list(tables, N_ENTRIES) - 1]; /* the scalar one is always there */
    if (!lacked(kern)) return;
    if (kern == best)
        st_warn(log, "this CPU has no %s: the %s kernels will be several times slower than others", lacked(kern),
                kern->name);
    else
        st_warn(log, "the %s kernels will be several times slower than %s, which this CPU can run", kern->name,
                best->name);
}
