// SPDX-License-Identifier: Apache-2.0
// Front ends: the readers of IR and ONNX under the original's names. A model is read whole by load(), and changed as an ov::Model.
#include <openvino/frontend/manager.hpp>

#include <algorithm>
#include <istream>
#include <iterator>
#include <map>
#include <set>

#include <openvino/core/graph_util.hpp>
#include <openvino/frontend/exception.hpp>
#include <openvino/frontend/extension.hpp>
#include <openvino/op/sink.hpp>
#include <openvino/op/util/op_types.hpp>
#include <openvino/runtime/core.hpp>

#include "convert.hpp"

namespace ov {
namespace frontend {

#define OV_TENON_FAILURE(Name)                                                                                      \
  Name::~Name() = default;                                                                                          \
  void Name::create(const char* file, int line, const char* check_string, const std::string& context,               \
                    const std::string& explanation) {                                                               \
    throw Name(make_what(file, line, check_string, context, "FrontEnd API failed with " #Name ": " + explanation)); \
  }
OV_TENON_FAILURE(GeneralFailure)
OV_TENON_FAILURE(InitializationFailure)
OV_TENON_FAILURE(OpValidationFailure)
OV_TENON_FAILURE(OpConversionFailure)
OV_TENON_FAILURE(NotImplementedFailure)
#undef OV_TENON_FAILURE

NodeContext::~NodeContext() = default;
ConversionExtensionBase::~ConversionExtensionBase() = default;
ConversionExtension::~ConversionExtension() = default;

// What neither a program's class nor Tenon's has.
#define OV_TENON_MISSING(Class, Result, name, parameters) \
  Result Class::name parameters { FRONT_END_NOT_IMPLEMENTED(name); }
Place::~Place() = default;
OV_TENON_MISSING(Place, std::vector<std::string>, get_names, () const)
OV_TENON_MISSING(Place, Place::Ptr, get_target_tensor, () const)
OV_TENON_MISSING(Place, Place::Ptr, get_target_tensor, (int) const)
OV_TENON_MISSING(Place, Place::Ptr, get_source_tensor, () const)
OV_TENON_MISSING(Place, Place::Ptr, get_source_tensor, (int) const)
OV_TENON_MISSING(Place, Place::Ptr, get_producing_operation, () const)
OV_TENON_MISSING(Place, Place::Ptr, get_output_port, () const)
OV_TENON_MISSING(Place, Place::Ptr, get_output_port, (int) const)
OV_TENON_MISSING(Place, Place::Ptr, get_input_port, (int) const)
OV_TENON_MISSING(Place, std::vector<Place::Ptr>, get_consuming_operations, () const)
OV_TENON_MISSING(Place, std::vector<Place::Ptr>, get_consuming_ports, () const)
OV_TENON_MISSING(Place, Place::Ptr, get_producing_port, () const)
OV_TENON_MISSING(Place, bool, is_input, () const)
OV_TENON_MISSING(Place, bool, is_output, () const)
OV_TENON_MISSING(Place, bool, is_equal, (const Ptr&) const)
OV_TENON_MISSING(Place, bool, is_equal_data, (const Ptr&) const)
InputModel::~InputModel() = default;
OV_TENON_MISSING(InputModel, std::vector<Place::Ptr>, get_inputs, () const)
OV_TENON_MISSING(InputModel, std::vector<Place::Ptr>, get_outputs, () const)
OV_TENON_MISSING(InputModel, Place::Ptr, get_place_by_tensor_name, (const std::string&) const)
OV_TENON_MISSING(InputModel, Place::Ptr, get_place_by_input_index, (std::size_t) const)
OV_TENON_MISSING(InputModel, Place::Ptr, get_place_by_operation_name, (const std::string&) const)
OV_TENON_MISSING(InputModel, Place::Ptr, get_place_by_operation_name_and_output_port, (const std::string&, int))
OV_TENON_MISSING(InputModel, void, set_name_for_tensor, (const Place::Ptr&, const std::string&))
OV_TENON_MISSING(InputModel, void, add_name_for_tensor, (const Place::Ptr&, const std::string&))
OV_TENON_MISSING(InputModel, void, set_name_for_operation, (const Place::Ptr&, const std::string&))
OV_TENON_MISSING(InputModel, void, cut_and_add_new_input, (const Place::Ptr&, const std::string&))
OV_TENON_MISSING(InputModel, void, cut_and_add_new_output, (const Place::Ptr&, const std::string&))
OV_TENON_MISSING(InputModel, Place::Ptr, add_output, (const Place::Ptr&))
OV_TENON_MISSING(InputModel, void, remove_output, (const Place::Ptr&))
OV_TENON_MISSING(InputModel, void, override_all_outputs, (const std::vector<Place::Ptr>&))
OV_TENON_MISSING(InputModel, void, override_all_inputs, (const std::vector<Place::Ptr>&))
OV_TENON_MISSING(InputModel, void, extract_subgraph, (const std::vector<Place::Ptr>&, const std::vector<Place::Ptr>&))
OV_TENON_MISSING(InputModel, void, set_partial_shape, (const Place::Ptr&, const PartialShape&))
OV_TENON_MISSING(InputModel, PartialShape, get_partial_shape, (const Place::Ptr&) const)
OV_TENON_MISSING(InputModel, void, set_element_type, (const Place::Ptr&, const element::Type&))
OV_TENON_MISSING(InputModel, element::Type, get_element_type, (const Place::Ptr&) const)
OV_TENON_MISSING(InputModel, void, set_tensor_value, (const Place::Ptr&, const void*))
FrontEnd::~FrontEnd() = default;
OV_TENON_MISSING(FrontEnd, std::shared_ptr<Model>, convert, (const InputModel::Ptr&) const)
OV_TENON_MISSING(FrontEnd, void, convert, (const std::shared_ptr<Model>&) const)
OV_TENON_MISSING(FrontEnd, std::shared_ptr<Model>, convert_partially, (const InputModel::Ptr&) const)
OV_TENON_MISSING(FrontEnd, std::shared_ptr<Model>, decode, (const InputModel::Ptr&) const)
OV_TENON_MISSING(FrontEnd, void, normalize, (const std::shared_ptr<Model>&) const)
OV_TENON_MISSING(FrontEnd, InputModel::Ptr, load_impl, (const AnyVector&) const)
#undef OV_TENON_MISSING
std::string FrontEnd::get_name() const { return {}; }
bool FrontEnd::supported_impl(const AnyVector&) const { return false; }
void FrontEnd::add_extension(const std::shared_ptr<Extension>& extension) { detail::refuse_extension(extension); }
void FrontEnd::add_extension(const std::vector<std::shared_ptr<Extension>>& extensions) {
  for (const auto& extension : extensions) add_extension(extension);
}
void FrontEnd::add_extension(const std::filesystem::path& library_path) { detail::refuse_extension(library_path); }

namespace {

/// One output of a node, which stands for the tensor and for the operation.
class PortPlace final : public Place, public std::enable_shared_from_this<PortPlace> {
 public:
  explicit PortPlace(Output<Node> at) : port(std::move(at)) {}
  std::vector<std::string> get_names() const override {
    const std::set<std::string> names(port.get_names().begin(), port.get_names().end());
    if (names.empty()) return {port.get_node()->get_friendly_name()};
    return {names.begin(), names.end()};
  }
  Ptr get_target_tensor() const override { return self(); }
  Ptr get_source_tensor() const override { return get_source_tensor(0); }
  Ptr get_source_tensor(int index) const override { return std::make_shared<PortPlace>(source(index)); }
  Ptr get_target_tensor(int index) const override { return output(index); }
  Ptr get_producing_operation() const override { return self(); }
  Ptr get_output_port() const override { return self(); }
  Ptr get_output_port(int index) const override { return output(index); }
  Ptr get_input_port(int index) const override { return get_source_tensor(index); }
  std::vector<Ptr> get_consuming_operations() const override {
    std::vector<Ptr> result;
    for (const auto& input : port.get_target_inputs())
      result.push_back(std::make_shared<PortPlace>(input.get_node()->output(0)));
    return result;
  }
  std::vector<Ptr> get_consuming_ports() const override { return get_consuming_operations(); }
  Ptr get_producing_port() const override { return self(); }
  bool is_input() const override { return op::util::is_parameter(port.get_node()); }
  bool is_output() const override {
    const auto readers = port.get_target_inputs();
    return std::any_of(readers.begin(), readers.end(),
                       [](const Input<Node>& input) { return op::util::is_output(input.get_node()); });
  }
  bool is_equal(const Ptr& another) const override {
    const auto* other = dynamic_cast<const PortPlace*>(another.get());
    return other && other->port == port;
  }
  bool is_equal_data(const Ptr& another) const override { return is_equal(another); }

  Output<Node> port;

 private:
  Ptr self() const { return std::const_pointer_cast<PortPlace>(shared_from_this()); }
  Ptr output(int index) const {
    return std::make_shared<PortPlace>(port.get_node()->output(static_cast<std::size_t>(index)));
  }
  Output<Node> source(int index) const {
    FRONT_END_GENERAL_CHECK(index >= 0 && static_cast<std::size_t>(index) < port.get_node()->get_input_size(),
                            port.get_node()->get_friendly_name(), " has no input ", index);
    return port.get_node()->input_value(static_cast<std::size_t>(index));
  }
};

class ReadModel final : public InputModel {
 public:
  explicit ReadModel(std::shared_ptr<Model> read) : model(std::move(read)) {}
  std::vector<Place::Ptr> get_inputs() const override {
    std::vector<Place::Ptr> places;
    for (const auto& parameter : model->get_parameters())
      places.push_back(std::make_shared<PortPlace>(parameter->output(0)));
    return places;
  }
  std::vector<Place::Ptr> get_outputs() const override {
    std::vector<Place::Ptr> places;
    for (const auto& result : model->get_results())
      places.push_back(std::make_shared<PortPlace>(result->input_value(0)));
    return places;
  }
  Place::Ptr get_place_by_tensor_name(const std::string& name) const override {
    return find([&](const Output<Node>& port) { return port.get_names().count(name) != 0; });
  }
  Place::Ptr get_place_by_input_index(std::size_t index) const override {
    const auto inputs = get_inputs();
    FRONT_END_GENERAL_CHECK(index < inputs.size(), "the model has ", inputs.size(), " inputs, none of index ", index);
    return inputs[index];
  }
  Place::Ptr get_place_by_operation_name(const std::string& name) const override {
    return find([&](const Output<Node>& port) { return port.get_node()->get_friendly_name() == name; });
  }
  Place::Ptr get_place_by_operation_name_and_output_port(const std::string& name, int index) override {
    const auto place = get_place_by_operation_name(name);
    return place ? place->get_output_port(index) : nullptr;
  }
  void set_name_for_tensor(const Place::Ptr& tensor, const std::string& name) override {
    port_of(tensor).set_names({name});
  }
  void add_name_for_tensor(const Place::Ptr& tensor, const std::string& name) override {
    port_of(tensor).add_names({name});
  }
  void set_name_for_operation(const Place::Ptr& operation, const std::string& name) override {
    port_of(operation).get_node()->set_friendly_name(name);
  }
  void cut_and_add_new_input(const Place::Ptr& place, const std::string& name) override {
    Output<Node> port = port_of(place);
    auto parameter = std::make_shared<op::v0::Parameter>(port.get_element_type(), port.get_partial_shape());
    if (!name.empty()) {
      parameter->set_friendly_name(name);
      parameter->output(0).set_names({name});
    }
    model->add_parameters({parameter});
    port.replace(parameter->output(0));
    keep_only_needed();
  }
  void cut_and_add_new_output(const Place::Ptr& place, const std::string& name) override {
    add_output(place);
    if (!name.empty()) add_name_for_tensor(place, name);
  }
  Place::Ptr add_output(const Place::Ptr& place) override {
    model->add_results({std::make_shared<op::v0::Result>(port_of(place))});
    return place;
  }
  void remove_output(const Place::Ptr& place) override {
    for (const auto& result : ResultVector(model->get_results()))
      if (result->input_value(0) == port_of(place)) model->remove_result(result);
    keep_only_needed();
  }
  void override_all_outputs(const std::vector<Place::Ptr>& outputs) override {
    for (const auto& result : ResultVector(model->get_results())) model->remove_result(result);
    for (const auto& place : outputs) add_output(place);
    keep_only_needed();
  }
  void override_all_inputs(const std::vector<Place::Ptr>& inputs) override {
    for (const auto& place : inputs)
      if (!op::util::is_parameter(port_of(place).get_node())) cut_and_add_new_input(place, place->get_names().front());
    keep_only_needed();
    FRONT_END_GENERAL_CHECK(model->get_parameters().size() == inputs.size(), "the outputs depend on ",
                            model->get_parameters().size(), " inputs, not on the ", inputs.size(), " that are given");
  }
  void extract_subgraph(const std::vector<Place::Ptr>& inputs, const std::vector<Place::Ptr>& outputs) override {
    override_all_outputs(outputs);
    override_all_inputs(inputs);
  }
  void set_partial_shape(const Place::Ptr& place, const PartialShape& shape) override {
    parameter_of(place).set_partial_shape(shape);
    model->validate_nodes_and_infer_types();
  }
  PartialShape get_partial_shape(const Place::Ptr& place) const override { return port_of(place).get_partial_shape(); }
  void set_element_type(const Place::Ptr& place, const element::Type& type) override {
    parameter_of(place).set_element_type(type);
    model->validate_nodes_and_infer_types();
  }
  element::Type get_element_type(const Place::Ptr& place) const override { return port_of(place).get_element_type(); }
  void set_tensor_value(const Place::Ptr& place, const void* value) override {
    Output<Node> port = port_of(place);
    const auto constant = std::make_shared<op::v0::Constant>(port.get_element_type(), port.get_shape(), value);
    constant->set_friendly_name(port.get_node()->get_friendly_name());
    port.replace(constant->output(0));
    keep_only_needed();
  }

  const std::shared_ptr<Model> model;

 private:
  template <typename Fits>
  Place::Ptr find(Fits fits) const {
    for (const auto& node : model->get_ordered_ops())
      for (const auto& port : node->outputs())
        if (!op::util::is_output(node) && fits(port)) return std::make_shared<PortPlace>(port);
    return nullptr;
  }
  static Output<Node> port_of(const Place::Ptr& place) {
    const auto* port = dynamic_cast<const PortPlace*>(place.get());
    FRONT_END_GENERAL_CHECK(port, "the place is null, or of another model");
    return port->port;
  }
  static op::v0::Parameter& parameter_of(const Place::Ptr& place) {
    auto* parameter = dynamic_cast<op::v0::Parameter*>(port_of(place).get_node());
    FRONT_END_GENERAL_CHECK(parameter, port_of(place).get_node()->get_friendly_name(), " is no input of the model");
    return *parameter;
  }
  /// Parameters that no result needs any more go.
  void keep_only_needed() {
    NodeVector ends(model->get_results().begin(), model->get_results().end());
    ends.insert(ends.end(), model->get_sinks().begin(), model->get_sinks().end());
    const NodeVector needed = detail::nodes_up_to(ends);
    for (const auto& parameter : ParameterVector(model->get_parameters()))
      if (std::find(needed.begin(), needed.end(), parameter) == needed.end()) model->remove_parameter(parameter);
  }
};

/// A variant as a path, if it is one.
std::filesystem::path path_of(const Any& variant) {
  if (variant.is<std::string>()) return variant.as<std::string>();
  if (variant.is<std::filesystem::path>()) return variant.as<std::filesystem::path>();
  if (variant.is<std::wstring>()) return std::filesystem::path(variant.as<std::wstring>());
  return {};
}
class Reader final : public FrontEnd {
 public:
  explicit Reader(std::string format) : format_(std::move(format)) {}
  std::string get_name() const override { return format_; }
  std::shared_ptr<Model> convert(const InputModel::Ptr& model) const override {
    const auto* read = dynamic_cast<const ReadModel*>(model.get());
    FRONT_END_GENERAL_CHECK(read, "the model is null, or was loaded by another front end than '", format_, "'");
    return read->model->clone();
  }
  void convert(const std::shared_ptr<Model>&) const override {}
  std::shared_ptr<Model> convert_partially(const InputModel::Ptr& model) const override { return convert(model); }
  std::shared_ptr<Model> decode(const InputModel::Ptr& model) const override { return convert(model); }
  void normalize(const std::shared_ptr<Model>&) const override {}

 protected:
  bool supported_impl(const AnyVector& variants) const override {
    if (variants.empty()) return false;
    if (std::istream* stream = stream_of(variants[0])) {
      const auto start = stream->tellg();
      std::string begin(64, '\0');
      stream->read(begin.data(), static_cast<std::streamsize>(begin.size()));
      stream->clear();
      stream->seekg(start);
      return (begin.find('<') <= begin.find_first_not_of(" \r\n\t\xEF\xBB\xBF")) == (format_ == "ir");
    }
    const std::filesystem::path path = path_of(variants[0]);
    if (path.empty()) return false;
    FRONT_END_GENERAL_CHECK(std::filesystem::exists(path), format_, ": Could not open the file: \"", path.string(),
                            "\"");
    const std::string extension = path.extension().string();
    return format_ == "ir" ? extension == ".xml" : extension == ".onnx" || extension == ".prototxt";
  }
  InputModel::Ptr load_impl(const AnyVector& variants) const override {
    FRONT_END_GENERAL_CHECK(!variants.empty(), "load without a model");
    if (std::istream* stream = stream_of(variants[0])) {
      const auto all = [](std::istream& in) { return std::string(std::istreambuf_iterator<char>(in), {}); };
      const std::string text = all(*stream);
      Tensor weights;
      if (std::istream* second = variants.size() > 1 ? stream_of(variants[1]) : nullptr) {
        const std::string bytes = all(*second);
        weights = Tensor(element::u8, Shape{bytes.size()});
        std::copy(bytes.begin(), bytes.end(), static_cast<char*>(weights.data()));
      }
      return std::make_shared<ReadModel>(core_.read_model(text, weights));
    }
    const std::filesystem::path path = path_of(variants[0]);
    FRONT_END_GENERAL_CHECK(!path.empty(), "load takes the path of a file or a stream, not ",
                            variants[0].type_info().name());
    return std::make_shared<ReadModel>(
        core_.read_model(path, variants.size() > 1 ? path_of(variants[1]) : std::filesystem::path()));
  }

 private:
  static std::istream* stream_of(const Any& variant) {
    return variant.is<std::istream*>() ? variant.as<std::istream*>() : nullptr;
  }
  std::string format_;
  Core core_;
};

}  // namespace

class FrontEndManager::Impl {
 public:
  std::map<std::string, FrontEndFactory> factories{{"ir", [] { return std::make_shared<Reader>("ir"); }},
                                                   {"onnx", [] { return std::make_shared<Reader>("onnx"); }}};
};
FrontEndManager::FrontEndManager() : impl_(std::make_unique<Impl>()) {}
FrontEndManager::FrontEndManager(FrontEndManager&&) noexcept = default;
FrontEndManager& FrontEndManager::operator=(FrontEndManager&&) noexcept = default;
FrontEndManager::~FrontEndManager() = default;
FrontEnd::Ptr FrontEndManager::load_by_framework(const std::string& framework) {
  const auto found = impl_->factories.find(framework);
  FRONT_END_INITIALIZATION_CHECK(found != impl_->factories.end(), "FrontEnd for Framework '", framework,
                                 "' is not found: Tenon reads ONNX and IR");
  return found->second();
}
FrontEnd::Ptr FrontEndManager::load_by_model(const AnyVector& variants) {
  for (const auto& [name, make] : impl_->factories) {
    FrontEnd::Ptr made = make();
    if (made && made->supported(variants)) return made;
  }
  return nullptr;
}
std::vector<std::string> FrontEndManager::get_available_front_ends() {
  std::vector<std::string> names;
  for (const auto& [name, make] : impl_->factories) names.push_back(name);
  return names;
}
void FrontEndManager::register_front_end(const std::string& name, FrontEndFactory creator) {
  FRONT_END_GENERAL_CHECK(creator, "the factory of front end '", name, "' is empty");
  impl_->factories[name] = std::move(creator);
}

}  // namespace frontend
}  // namespace ov
