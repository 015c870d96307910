/* SPDX-License-Identifier: Apache-2.0 */
/* Ledger, zero-copy policy, trace. Generated from api/ledger.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_LEDGER_H
#define TENON_BINDINGS_C_LEDGER_H

#include <tenon/bindings/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Counts what was copied, converted, transferred and waited for, always and per edge (a way from one kind of
 * memory to another).
 */

/* What to do with memory that a device cannot use in place. */
typedef int32_t tenon_zero_copy_t;
enum {
  TENON_ZERO_COPY_DEFAULT = 0, /* The core's setting; initially prefer. */
  TENON_ZERO_COPY_REQUIRE = 1, /* A copy is an error, with the reason. */
  TENON_ZERO_COPY_PREFER = 2, /* Share if possible; otherwise copy and record it. */
  TENON_ZERO_COPY_ALLOW = 3 /* The cheapest way, even if it copies. */
};

/* Sums over all edges, in bytes except for maps, waits and wait_ns. */
typedef struct tenon_ledger_totals {
  size_t struct_size;
  uint64_t maps;
  uint64_t copied_bytes; /* Moved, packed or changed in layout, by any library. */
  uint64_t converted_bytes; /* Read to compute other values: colour, size, type. */
  uint64_t transferred_bytes; /* To or from a device's own memory. */
  uint64_t waits; /* Host waits that blocked. */
  uint64_t wait_ns;
} tenon_ledger_totals_t;

/* Counts of one edge. */
typedef struct tenon_ledger_entry {
  size_t struct_size;
  const char* name; /* The edge's name; valid as long as the list. */
  uint64_t maps;
  uint64_t view_hits; /* Maps that used an existing view. */
  uint64_t copied_bytes;
  uint64_t converted_bytes;
  uint64_t transferred_bytes;
  uint64_t waits;
  uint64_t wait_ns;
} tenon_ledger_entry_t;

/* Sums over all models of this core. totals->struct_size must be set. */
TENON_C_API tenon_status_t tenon_core_ledger(const tenon_core_t* core, tenon_ledger_totals_t* totals);

/* The same counts per edge. */
TENON_C_API tenon_status_t tenon_core_ledger_entries(const tenon_core_t* core, tenon_ledger_entries_t** out);

/* Resets the counts to 0. */
TENON_C_API tenon_status_t tenon_core_ledger_reset(tenon_core_t* core);

/* The ledger as readable text. */
TENON_C_API tenon_status_t tenon_core_report(const tenon_core_t* core, char** out);

/* Sets the default policy of later compilations. */
TENON_C_API tenon_status_t tenon_core_set_zero_copy(tenon_core_t* core, tenon_zero_copy_t policy);

/* The default policy of compilations. */
TENON_C_API tenon_status_t tenon_core_get_zero_copy(const tenon_core_t* core, tenon_zero_copy_t* out);

/* Sums over this request. totals->struct_size must be set. */
TENON_C_API tenon_status_t tenon_infer_request_ledger(const tenon_infer_request_t* request,
    tenon_ledger_totals_t* totals);

/* The same counts per edge. */
TENON_C_API tenon_status_t tenon_infer_request_ledger_entries(const tenon_infer_request_t* request,
    tenon_ledger_entries_t** out);

/* Number of edges with counts. */
TENON_C_API size_t tenon_ledger_entries_count(const tenon_ledger_entries_t* entries);

/*
 * An edge's counts by position. entry->struct_size must be set.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_ledger_entries_get(const tenon_ledger_entries_t* entries, size_t index,
    tenon_ledger_entry_t* entry);

/* Records this process's time spans; at most `capacity`, the oldest are overwritten. Restarts an open trace. */
TENON_C_API tenon_status_t tenon_trace_start(size_t capacity);

/* Stops recording; the recorded spans are kept until the next start. */
TENON_C_API tenon_status_t tenon_trace_stop(void);

/*
 * Writes the recorded spans as a Chrome trace, completely or not at all.
 * Statuses: PERMISSION_DENIED.
 */
TENON_C_API tenon_status_t tenon_trace_write(const char* path);

/* Frees the handle. */
TENON_C_API void tenon_ledger_entries_free(tenon_ledger_entries_t* ledger_entries);

#ifdef __cplusplus
}
#endif

#endif
