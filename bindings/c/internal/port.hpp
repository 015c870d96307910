// SPDX-License-Identifier: Apache-2.0
// Ports by position, for models and compiled models.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/bindings/c/internal/guard.hpp>

namespace tenon::c {

/// A tensor name, else the node's name.
template <typename Ports>
std::vector<std::string> names_of(const Ports& ports) {
  std::vector<std::string> names;
  for (const auto& port : ports)
    names.push_back(port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name());
  return names;
}

template <typename Ports>
void write_indexed(const Ports& ports, const std::vector<std::string>& names, std::size_t index,
                   tenon_port_info_t* info) {
  required(info, "info");
  if (index >= ports.size()) refuse_past_end("port", index, ports.size());
  write_port(ports[index], names[index], info);
}

}  // namespace tenon::c
