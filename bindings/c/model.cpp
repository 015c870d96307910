// SPDX-License-Identifier: Apache-2.0
// Models before compilation, and their ports.
#include <map>

#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

#include <tenon/bindings/c/internal/guard.hpp>
#include <tenon/bindings/c/internal/port.hpp>

tenon_model::tenon_model(std::shared_ptr<tenon::Model> from) : value(std::move(from)) {
  input_names = tenon::c::names_of(value->inputs());
  output_names = tenon::c::names_of(value->outputs());
}

namespace tenon::c {

void write_port(const Output<const Node>& port, const std::string& name, tenon_port_info_t* info) {
  const PartialShape& shape = port.get_partial_shape();
  tenon_port_info_t value{};
  value.name = name.c_str();
  value.type = static_cast<tenon_element_type_t>(static_cast<ElementType>(port.get_element_type()));
  value.rank = -1;
  if (shape.rank().is_static() && shape.size() <= TENON_MAX_RANK) {
    value.rank = static_cast<std::int32_t>(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) value.shape[i] = shape[i].is_static() ? shape[i].get_length() : -1;
  }
  write_struct(info, value, "info");
}

namespace {

Model& model_of(const tenon_model_t* model) { return *checked(model, "model").value; }

template <typename Key, typename KeyOf>
void reshape(tenon_model_t* model, const tenon_partial_shape_t* const* shapes, std::size_t count, KeyOf&& key_of) {
  Model& value = model_of(model);
  required_array(shapes, count, "shapes");
  std::map<Key, PartialShape> by_key;
  for (std::size_t i = 0; i < count; ++i)
    by_key[key_of(i)] = checked(shapes[i], ("shapes[" + std::to_string(i) + "]").c_str()).value;
  value.reshape(by_key);
}

std::string element_name(const char* array, std::size_t index) {
  return std::string(array) + "[" + std::to_string(index) + "]";
}

const Output<const Node>& port_of(const tenon_port_t* port) { return checked(port, "port").value; }

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_model_get_name(const tenon_model_t* model, char** out) {
  return give_text(out, [&] { return model_of(model).get_friendly_name(); });
}
tenon_status_t tenon_model_set_name(tenon_model_t* model, const char* name) {
  return run([&] {
    tenon::Model& value = model_of(model);
    value.set_friendly_name(required(name, "name"));
  });
}
bool tenon_model_is_dynamic(const tenon_model_t* model) {
  return ask(model, false, [](const tenon_model& held) { return held.value->is_dynamic(); });
}
tenon_status_t tenon_model_get_info(const tenon_model_t* model, const char* const* path, size_t path_length,
                                    char** out) {
  return give_text(out, [&] {
    const tenon::Model& value = model_of(model);
    required_array(path, path_length, "path");
    if (path_length == 0 || path_length > 64) refuse("path_length " + std::to_string(path_length) + " is not 1 to 64");
    std::vector<std::string> names;
    for (size_t i = 0; i < path_length; ++i) names.emplace_back(required(path[i], element_name("path", i).c_str()));
    return value.get_rt_info(names).to_text();
  });
}
tenon_status_t tenon_model_clone(const tenon_model_t* model, tenon_model_t** out) {
  return make(out, [&] { return model_of(model).clone(); });
}
tenon_status_t tenon_model_save(const tenon_model_t* model, const char* xml_path, const char* bin_path) {
  return run([&] {
    const tenon::Model& value = model_of(model);
    tenon::serialize(value, required(xml_path, "xml_path"), bin_path ? bin_path : "");
  });
}

size_t tenon_model_input_count(const tenon_model_t* model) {
  return ask(model, size_t{0}, [](const tenon_model& held) { return held.input_names.size(); });
}
size_t tenon_model_output_count(const tenon_model_t* model) {
  return ask(model, size_t{0}, [](const tenon_model& held) { return held.output_names.size(); });
}
tenon_status_t tenon_model_input_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info) {
  return run([&] { write_indexed(model_of(model).inputs(), model->input_names, index, info); });
}
tenon_status_t tenon_model_output_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info) {
  return run([&] { write_indexed(model_of(model).outputs(), model->output_names, index, info); });
}
tenon_status_t tenon_model_input(const tenon_model_t* model, tenon_port_t** out) {
  return make(out, [&] { return model_of(model).input(); });
}
tenon_status_t tenon_model_input_by_index(const tenon_model_t* model, size_t index, tenon_port_t** out) {
  return make(out, [&] { return model_of(model).input(index); });
}
tenon_status_t tenon_model_input_by_name(const tenon_model_t* model, const char* name, tenon_port_t** out) {
  return make(out, [&] { return model_of(model).input(std::string(required(name, "name"))); });
}
tenon_status_t tenon_model_output(const tenon_model_t* model, tenon_port_t** out) {
  return make(out, [&] { return model_of(model).output(); });
}
tenon_status_t tenon_model_output_by_index(const tenon_model_t* model, size_t index, tenon_port_t** out) {
  return make(out, [&] { return model_of(model).output(index); });
}
tenon_status_t tenon_model_output_by_name(const tenon_model_t* model, const char* name, tenon_port_t** out) {
  return make(out, [&] { return model_of(model).output(std::string(required(name, "name"))); });
}

tenon_status_t tenon_model_reshape(tenon_model_t* model, const tenon_partial_shape_t* shape) {
  return run([&] {
    tenon::Model& value = model_of(model);
    value.reshape(checked(shape, "shape").value);
  });
}
tenon_status_t tenon_model_reshape_by_names(tenon_model_t* model, const char* const* names,
                                            const tenon_partial_shape_t* const* shapes, size_t count) {
  return run([&] {
    required_array(names, count, "names");
    reshape<std::string>(model, shapes, count,
                         [&](size_t i) { return std::string(required(names[i], element_name("names", i).c_str())); });
  });
}
tenon_status_t tenon_model_reshape_by_indexes(tenon_model_t* model, const size_t* indexes,
                                              const tenon_partial_shape_t* const* shapes, size_t count) {
  return run([&] {
    required_array(indexes, count, "indexes");
    reshape<std::size_t>(model, shapes, count, [&](size_t i) { return indexes[i]; });
  });
}
tenon_status_t tenon_model_reshape_by_ports(tenon_model_t* model, const tenon_port_t* const* ports,
                                            const tenon_partial_shape_t* const* shapes, size_t count) {
  return run([&] {
    required_array(ports, count, "ports");
    reshape<tenon::Output<tenon::Node>>(model, shapes, count, [&](size_t i) {
      const auto& port = checked(ports[i], element_name("ports", i).c_str()).value;
      // A port of this model gives non-const access, since the caller may change the model.
      return tenon::Output<tenon::Node>(std::const_pointer_cast<tenon::Node>(port.get_node_shared_ptr()),
                                        port.get_index());
    });
  });
}
void tenon_model_free(tenon_model_t* model) { free_handle(model); }

tenon_status_t tenon_port_get_any_name(const tenon_port_t* port, char** out) {
  return give_text(out, [&] { return port_of(port).get_any_name(); });
}
tenon_status_t tenon_port_get_names(const tenon_port_t* port, tenon_strings_t** out) {
  return make(out, [&] {
    const auto& names = port_of(port).get_names();
    std::vector<std::string> sorted(names.begin(), names.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  });
}
tenon_status_t tenon_port_get_node_name(const tenon_port_t* port, char** out) {
  return give_text(out, [&] { return port_of(port).get_node()->get_friendly_name(); });
}
tenon_element_type_t tenon_port_element_type(const tenon_port_t* port) {
  return ask(port, tenon_element_type_t{TENON_TYPE_UNDEFINED},
             [](const tenon_port& held) { return static_cast<tenon::ElementType>(held.value.get_element_type()); });
}
tenon_status_t tenon_port_get_partial_shape(const tenon_port_t* port, tenon_partial_shape_t** out) {
  return make(out, [&] { return port_of(port).get_partial_shape(); });
}
int64_t tenon_port_rank(const tenon_port_t* port) {
  return ask(port, int64_t{-1}, [](const tenon_port& held) {
    const auto rank = held.value.get_partial_shape().rank();
    return rank.is_static() ? rank.get_length() : -1;
  });
}
tenon_status_t tenon_port_shape(const tenon_port_t* port, size_t* out) {
  return run([&] {
    const tenon::Shape shape = port_of(port).get_partial_shape().to_shape();
    required_array(out, shape.size(), "out");
    std::copy(shape.begin(), shape.end(), out);
  });
}
void tenon_port_free(tenon_port_t* port) { free_handle(port); }
