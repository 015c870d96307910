// SPDX-License-Identifier: Apache-2.0
// Prints as JSON the properties of a device and of a model compiled for it: properties_dump [CPU]. Input of check_properties.py.
#include <cstdio>
#include <string>

#include <tenon/runtime/device/general_properties.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

using namespace tenon;

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

const char* access_of(PropertyMutability mutability) {
  return mutability == PropertyMutability::RO ? "RO" : mutability == PropertyMutability::WO ? "WO" : "RW";
}

/// {"KEY": {"access": "RO", "value": "..."}, ...} for everything that SUPPORTED_PROPERTIES lists.
template <typename Get>
std::string listed(Get get) {
  std::string out = "{";
  for (const PropertyName& name : get(supported_properties.name()).template as<std::vector<PropertyName>>()) {
    out += out.size() > 1 ? ",\n" : "";
    out += json_text(name) + ": {\"access\": \"" + access_of(name.get_mutability()) + "\", ";
    try {
      out += "\"value\": " + json_text(get(name).to_text());
    } catch (const Error& error) {
      out += "\"error\": " + json_text(error.what());
    }
    out += "}";
  }
  return out + "}";
}

}  // namespace

int main(int count, char** arguments) {
  const std::string device = count > 1 ? arguments[1] : "CPU";
  Core core;
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  const auto y = std::make_shared<op::v0::Relu>(x->output(0));
  const auto compiled =
      core.compile_model(std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "answers"), device);
  std::string general = "{";
  for (const GeneralProperty& property : general_properties()) {
    bool answered = false, by_core = false;
    std::string error;
    try {
      (void)core.get_property(device, std::string(property.name));
      answered = true;
    } catch (const Error& refused) {
      error = refused.what();
    }
    try {
      (void)core.get_property(std::string(property.name));
      by_core = true;
    } catch (const Error&) {  // The member of that name reports it.
    }
    general += std::string(general.size() > 1 ? ",\n" : "") + json_text(property.name) +
               ": {\"answered\": " + (answered ? "true" : "false") + ", \"by_core\": " + (by_core ? "true" : "false") +
               ", \"error\": " + json_text(error) + "}";
  }
  std::printf("{\"device\": %s,\n\"model\": %s,\n\"general\": %s}}\n",
              listed([&](const std::string& name) { return core.get_property(device, name); }).c_str(),
              listed([&](const std::string& name) { return compiled.get_property(name); }).c_str(), general.c_str());
}
