/* SPDX-License-Identifier: Apache-2.0 */
/* States. Generated from api/state.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_STATE_H
#define TENON_BINDINGS_C_STATE_H

#include <tenon/bindings/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values that a stateful model keeps between inferences of one request. */

/*
 * The states of a request; the list may be empty.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_query_states(tenon_infer_request_t* request,
    tenon_variable_states_t** out);

/*
 * Resets all states: the next inference starts from their initial values.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_infer_request_reset_states(tenon_infer_request_t* request);

/* Number of states. */
TENON_C_API size_t tenon_variable_states_count(const tenon_variable_states_t* states);

/*
 * A state by position.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_variable_states_get(const tenon_variable_states_t* states, size_t index,
    tenon_variable_state_t** out);

/* The variable's name in the model. */
TENON_C_API tenon_status_t tenon_variable_state_get_name(const tenon_variable_state_t* state, char** out);

/*
 * The current value.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_variable_state_get(const tenon_variable_state_t* state, tenon_tensor_t** out);

/*
 * Sets the value for the next inference.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_variable_state_set(tenon_variable_state_t* state, const tenon_tensor_t* value);

/*
 * Resets the state: the next inference starts from its initial value.
 * Statuses: FAILED_PRECONDITION.
 */
TENON_C_API tenon_status_t tenon_variable_state_reset(tenon_variable_state_t* state);

/* Frees the handle. */
TENON_C_API void tenon_variable_states_free(tenon_variable_states_t* variable_states);

/* Frees the handle. */
TENON_C_API void tenon_variable_state_free(tenon_variable_state_t* variable_state);

#ifdef __cplusplus
}
#endif

#endif
