// SPDX-License-Identifier: Apache-2.0
// States of stateful models.
#include <tenon/bindings/c/internal/guard.hpp>

using namespace tenon::c;

tenon_status_t tenon_infer_request_query_states(tenon_infer_request_t* request, tenon_variable_states_t** out) {
  return make(out, [&] { return checked(request, "request").value.query_state(); });
}
tenon_status_t tenon_infer_request_reset_states(tenon_infer_request_t* request) {
  return run([&] { checked(request, "request").value.reset_state(); });
}
size_t tenon_variable_states_count(const tenon_variable_states_t* states) {
  return ask(states, size_t{0}, [](const tenon_variable_states& list) { return list.values.size(); });
}
tenon_status_t tenon_variable_states_get(const tenon_variable_states_t* states, size_t index,
                                         tenon_variable_state_t** out) {
  return make(out, [&] {
    const auto& values = checked(states, "states").values;
    if (index >= values.size()) refuse_past_end("state", index, values.size());
    return values[index];
  });
}
void tenon_variable_states_free(tenon_variable_states_t* states) { free_handle(states); }
tenon_status_t tenon_variable_state_get_name(const tenon_variable_state_t* state, char** out) {
  return give_text(out, [&] { return checked(state, "state").value.get_name(); });
}
tenon_status_t tenon_variable_state_get(const tenon_variable_state_t* state, tenon_tensor_t** out) {
  return make(out, [&] { return checked(state, "state").value.get_state(); });
}
tenon_status_t tenon_variable_state_set(tenon_variable_state_t* state, const tenon_tensor_t* value) {
  return run([&] {
    tenon::VariableState& held = checked(state, "state").value;
    held.set_state(checked(value, "value").value);
  });
}
tenon_status_t tenon_variable_state_reset(tenon_variable_state_t* state) {
  return run([&] { checked(state, "state").value.reset(); });
}
void tenon_variable_state_free(tenon_variable_state_t* state) { free_handle(state); }
