/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of an example in C is checked here: a failure prints the call and the reason, and ends the program. */
#ifndef TENON_EXAMPLES_SUPPORT_CHECK_H
#define TENON_EXAMPLES_SUPPORT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <tenon/bindings/c/tenon.h>

/* Exit status of a test without a device to run on. */
enum { kNoDevice = 77 };

static inline void check(tenon_status_t status, const char* what) {
  if (status == TENON_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, tenon_status_name(status), tenon_last_error_message());
  exit(1);
}

/* The device's own context; ends the program if there is no such device. */
static inline tenon_remote_context_t* context_of(tenon_core_t* core, const char* device) {
  tenon_remote_context_t* context = NULL;
  const tenon_status_t status = tenon_core_get_default_context(core, device, &context);
  if (status == TENON_UNAVAILABLE || status == TENON_NOT_FOUND || status == TENON_UNIMPLEMENTED) {
    printf("no context of %s here: %s\n", device, tenon_last_error_message());
    exit(kNoDevice);
  }
  check(status, "context");
  return context;
}

/* Prints the handles of a context or a tensor. @param status  The result of the call that returned `params`. */
static inline void print_params(const char* name, tenon_status_t status, char** params) {
  check(status, name);
  printf("%-28s %s\n", name, *params);
  tenon_string_free(*params);
}

/* Number of bytes that were copied for a request's inferences. */
static inline unsigned long long copied_bytes(tenon_infer_request_t* request) {
  tenon_ledger_totals_t totals = {0};
  totals.struct_size = sizeof totals;
  check(tenon_infer_request_ledger(request, &totals), "ledger");
  return (unsigned long long)totals.copied_bytes;
}

#endif
