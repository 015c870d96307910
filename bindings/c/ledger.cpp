// SPDX-License-Identifier: Apache-2.0
// The ledger, the zero-copy policy, the trace.
#include <tenon/core/policy.hpp>

#include <tenon/bindings/c/internal/guard.hpp>

namespace tenon::c {

ZeroCopy policy_of(tenon_zero_copy_t policy) {
  switch (policy) {
    case TENON_ZERO_COPY_REQUIRE:
      return ZeroCopy::kRequire;
    case TENON_ZERO_COPY_DEFAULT:
    case TENON_ZERO_COPY_PREFER:
      return ZeroCopy::kPrefer;
    case TENON_ZERO_COPY_ALLOW:
      return ZeroCopy::kAllow;
    default:
      refuse("zero_copy " + std::to_string(policy) + " does not exist");
  }
}

void write_totals(const Ledger& ledger, tenon_ledger_totals_t* totals) {
  const LedgerEntry sum = ledger.total();
  tenon_ledger_totals_t value{};
  value.maps = sum.maps;
  value.copied_bytes = sum.copied;
  value.converted_bytes = sum.converted;
  value.transferred_bytes = sum.transferred;
  value.waits = sum.waits;
  value.wait_ns = sum.wait_ns;
  write_struct(totals, value, "totals");
}

namespace {
Ledger& ledger_of(const tenon_core_t* core) { return checked(core, "core").value.ledger(); }
Ledger& ledger_of(const tenon_infer_request_t* request) { return checked(request, "request").value.ledger(); }
}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_core_ledger(const tenon_core_t* core, tenon_ledger_totals_t* totals) {
  return run([&] { write_totals(ledger_of(core), totals); });
}
tenon_status_t tenon_core_ledger_entries(const tenon_core_t* core, tenon_ledger_entries_t** out) {
  return make(out, [&] { return ledger_of(core).snapshot(); });
}
tenon_status_t tenon_core_ledger_reset(tenon_core_t* core) {
  return run([&] { ledger_of(core).reset(); });
}
tenon_status_t tenon_core_report(const tenon_core_t* core, char** out) {
  return give_text(out, [&] { return ledger_of(core).report(); });
}
tenon_status_t tenon_core_set_zero_copy(tenon_core_t* core, tenon_zero_copy_t policy) {
  return run([&] {
    tenon::Core& value = checked(core, "core").value;
    value.set_property(tenon::zero_copy(policy_of(policy)));
  });
}
tenon_status_t tenon_core_get_zero_copy(const tenon_core_t* core, tenon_zero_copy_t* out) {
  return give(out, [&] {
    switch (checked(core, "core").value.get_property(tenon::zero_copy.name()).as<tenon::ZeroCopy>()) {
      case tenon::ZeroCopy::kRequire:
        return TENON_ZERO_COPY_REQUIRE;
      case tenon::ZeroCopy::kAllow:
        return TENON_ZERO_COPY_ALLOW;
      default:
        return TENON_ZERO_COPY_PREFER;
    }
  });
}
tenon_status_t tenon_infer_request_ledger(const tenon_infer_request_t* request, tenon_ledger_totals_t* totals) {
  return run([&] { write_totals(ledger_of(request), totals); });
}
tenon_status_t tenon_infer_request_ledger_entries(const tenon_infer_request_t* request, tenon_ledger_entries_t** out) {
  return make(out, [&] { return ledger_of(request).snapshot(); });
}
size_t tenon_ledger_entries_count(const tenon_ledger_entries_t* entries) {
  return ask(entries, size_t{0}, [](const tenon_ledger_entries& list) { return list.values.size(); });
}
tenon_status_t tenon_ledger_entries_get(const tenon_ledger_entries_t* entries, size_t index,
                                        tenon_ledger_entry_t* entry) {
  return run([&] {
    const auto& values = checked(entries, "entries").values;
    required(entry, "entry");
    if (index >= values.size()) refuse_past_end("entry", index, values.size());
    const tenon::LedgerEntry& from = values[index];
    tenon_ledger_entry_t value{};
    value.name = from.name.c_str();
    value.maps = from.maps;
    value.view_hits = from.view_hits;
    value.copied_bytes = from.copied;
    value.converted_bytes = from.converted;
    value.transferred_bytes = from.transferred;
    value.waits = from.waits;
    value.wait_ns = from.wait_ns;
    write_struct(entry, value, "entry");
  });
}
void tenon_ledger_entries_free(tenon_ledger_entries_t* entries) { free_handle(entries); }

tenon_status_t tenon_trace_start(size_t capacity) {
  return run([&] {
    constexpr size_t kMost = size_t{1} << 24;
    if (capacity == 0 || capacity > kMost)
      refuse("capacity " + std::to_string(capacity) + " is not 1 to " + std::to_string(kMost));
    tenon::Trace::start(capacity);
  });
}
tenon_status_t tenon_trace_stop() {
  return run([] { tenon::Trace::stop(); });
}
tenon_status_t tenon_trace_write(const char* path) {
  return run([&] { tenon::Trace::write(required(path, "path")); });
}
