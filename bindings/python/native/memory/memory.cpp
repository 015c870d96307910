// SPDX-License-Identifier: Apache-2.0
// The ledger, the router and traces.
#include <algorithm>
#include <chrono>
#include <string>

#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/router.hpp>

namespace tenon::python {
namespace {

nb::dict entry_of(const LedgerEntry& entry) {
  nb::dict dict;
  dict["name"] = entry.name;
  dict["maps"] = entry.maps;
  dict["view_hits"] = entry.view_hits;
  dict["copied"] = entry.copied;
  dict["converted"] = entry.converted;
  dict["transferred"] = entry.transferred;
  dict["waits"] = entry.waits;
  dict["wait_ns"] = entry.wait_ns;
  return dict;
}

}  // namespace

void wait_for_memory(const Memory& memory, Access access, Deadline deadline) {
  if (!memory.has_hazards()) return;
  wait_in_slices([&](int slice_ms) {
    const Deadline slice = Clock::now() + std::chrono::milliseconds(slice_ms);
    try {
      memory.wait_for(access, std::min(slice, deadline));
      return true;
    } catch (const Error& error) {
      if (error.code() != Code::kDeadlineExceeded || Clock::now() >= deadline) throw;
      return false;
    }
  });
}

void add_memory(nb::module_& module) {
  nb::class_<Ledger>(module, "Ledger",
                     "Counts of maps, copies, conversions, transfers and waits, by the edge that booked them.")
      .def_static("process", &Ledger::process, nb::rv_policy::reference, "What everything in this process did.")
      .def(
          "snapshot",
          [](const Ledger& self) {
            nb::list entries;
            for (const LedgerEntry& each : self.snapshot()) entries.append(entry_of(each));
            return entries;
          },
          "Entries that are not zero: bytes copied, converted and transferred, numbers of maps and waits.")
      .def(
          "total", [](const Ledger& self) { return entry_of(self.total()); }, "Sums over all edges, as an entry.")
      .def("reset", &Ledger::reset, "Sets all counts to 0.")
      .def("report", &Ledger::report, "The snapshot as a table.")
      .def("__str__", &Ledger::report)
      .def("__repr__", [](const Ledger& self) {
        const LedgerEntry total = self.total();
        return "<Ledger: copied " + std::to_string(total.copied) + " bytes, converted " +
               std::to_string(total.converted) + ", " + std::to_string(total.maps) + " maps>";
      });
  nb::class_<Router>(module, "Router", "Knows contexts and the ways between their memories.")
      .def_prop_ro(
          "contexts",
          [](const Router& self) {
            nb::list names;
            for (const Context& each : self.contexts()) names.append(std::string(each->name()));
            return names;
          },
          "Names of the contexts that it knows.");
  module.def(
      "start_trace",
      [](std::size_t capacity) {
        constexpr std::size_t kMost = std::size_t{1} << 24;
        if (capacity > kMost)
          throw Error(Code::kInvalidArgument, "capacity is a number of spans of at most " + std::to_string(kMost) +
                                                  ", not " + std::to_string(capacity));
        const Released released;
        Trace::start(capacity);
      },
      nb::arg("capacity") = 65536, "Starts recording spans of time, of which the last `capacity` are kept.");
  module.def(
      "write_trace",
      [](const std::string& path) {
        const Released released;
        Trace::stop();
        Trace::write(path);
      },
      nb::arg("path"), "Ends recording and writes a Chrome trace.");
}

}  // namespace tenon::python
