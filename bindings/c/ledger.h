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
 * What was copied, converted, transferred and waited for: always counted, per edge (a way from one kind of memory
 * to another).
 */

/* What may happen to memory that a device can't use where it lies. */
typedef int32_t tenon_zero_copy_t;
enum {
  TENON_ZERO_COPY_DEFAULT = 0, /* What the core is set to: prefer, unless changed. */
  TENON_ZERO_COPY_REQUIRE = 1, /* A copy is an error that explains itself. */
  TENON_ZERO_COPY_PREFER = 2, /* Share where possible, else copy and book it. */
  TENON_ZERO_COPY_ALLOW = 3 /* The cheapest way, whatever it does. */
};

/* Sums over all edges; bytes, but for maps, waits and wait_ns. */
typedef struct tenon_ledger_totals {
  size_t struct_size;
  uint64_t maps;
  uint64_t copied_bytes; /* Moved, packed or re-laid out, by anyone's code. */
  uint64_t converted_bytes; /* Read to make other values: colour, size, type. */
  uint64_t transferred_bytes; /* To or from a device's own memory. */
  uint64_t waits; /* Host waits that blocked. */
  uint64_t wait_ns;
} tenon_ledger_totals_t;

/* Counts of one edge. */
typedef struct tenon_ledger_entry {
  size_t struct_size;
  const char* name; /* Of the edge; valid as long as the list. */
  uint64_t maps;
  uint64_t view_hits; /* Of the maps, those that found the view ready. */
  uint64_t copied_bytes;
  uint64_t converted_bytes;
  uint64_t transferred_bytes;
  uint64_t waits;
  uint64_t wait_ns;
} tenon_ledger_entry_t;

/* What all models of this core booked. totals->struct_size must be set. */
TENON_C_API tenon_status_t tenon_core_ledger(const tenon_core_t* core, tenon_ledger_totals_t* totals);

/* The same per edge. */
TENON_C_API tenon_status_t tenon_core_ledger_entries(const tenon_core_t* core, tenon_ledger_entries_t** out);

/* Counts from 0 again. */
TENON_C_API tenon_status_t tenon_core_ledger_reset(tenon_core_t* core);

/* The ledger as text for people. */
TENON_C_API tenon_status_t tenon_core_report(const tenon_core_t* core, char** out);

/* The policy of later compilations whose options don't say another. */
TENON_C_API tenon_status_t tenon_core_set_zero_copy(tenon_core_t* core, tenon_zero_copy_t policy);

/* The policy of compilations whose options don't say another. */
TENON_C_API tenon_status_t tenon_core_get_zero_copy(const tenon_core_t* core, tenon_zero_copy_t* out);

/* What this request booked. totals->struct_size must be set. */
TENON_C_API tenon_status_t tenon_infer_request_ledger(const tenon_infer_request_t* request,
    tenon_ledger_totals_t* totals);

/* The same per edge. */
TENON_C_API tenon_status_t tenon_infer_request_ledger_entries(const tenon_infer_request_t* request,
    tenon_ledger_entries_t** out);

/* Number of edges that booked anything. */
TENON_C_API size_t tenon_ledger_entries_count(const tenon_ledger_entries_t* entries);

/*
 * One edge. entry->struct_size must be set.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_ledger_entries_get(const tenon_ledger_entries_t* entries, size_t index,
    tenon_ledger_entry_t* entry);

/* Records spans of time of this process, at most `capacity`: the oldest are overwritten. Restarts an open trace. */
TENON_C_API tenon_status_t tenon_trace_start(size_t capacity);

/* Stops recording; what was recorded stays until the next start. */
TENON_C_API tenon_status_t tenon_trace_stop(void);

/*
 * Writes what was recorded as a Chrome trace, whole or not at all.
 * Statuses: PERMISSION_DENIED.
 */
TENON_C_API tenon_status_t tenon_trace_write(const char* path);

/* Frees the handle. */
TENON_C_API void tenon_ledger_entries_free(tenon_ledger_entries_t* ledger_entries);

#ifdef __cplusplus
}
#endif

#endif
