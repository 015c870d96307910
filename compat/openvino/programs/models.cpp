// SPDX-License-Identifier: Apache-2.0
// Models as programs read and change them.
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <map>

#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>

#include "programs.hpp"

void models() {
  ov::Core core;
  const std::shared_ptr<ov::Model> model = small_model(core);
  line(model->get_friendly_name(), ' ', model->inputs().size(), ' ', model->outputs().size(), ' ', model->is_dynamic());
  const ov::Output<ov::Node> input = model->input();
  line(input.get_any_name(), ' ', input.get_element_type(), ' ', input.get_shape(), ' ', input.get_partial_shape(), ' ',
       input.get_node()->get_friendly_name(), ' ', input.get_node()->get_type_name(), ' ', input.get_index());
  const ov::Output<ov::Node> output = model->output("y");
  line(output.get_names().size(), ' ', output.get_node()->get_friendly_name(), ' ', output == model->output(0), ' ',
       output.get_node_shared_ptr() == model->get_results()[0], ' ', output.get_node()->get_type_name());
  std::string kinds;
  for (const std::shared_ptr<ov::Node>& node : model->get_ordered_ops()) {
    kinds += std::string(kinds.empty() ? "" : " ") + node->get_type_info().name;
    if (std::dynamic_pointer_cast<ov::op::v0::Parameter>(node)) line("parameter ", node->get_friendly_name());
    if (ov::is_type<ov::op::v0::Result>(node)) line("result ", node->get_input_size(), ' ', node->get_input_shape(0));
    if (const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(node))
      line("constant ", constant->cast_vector<int>()[2]);
  }
  line(kinds.size());
  const std::shared_ptr<ov::op::v0::Parameter> parameter = model->get_parameters().at(0);
  line(parameter->get_element_type(), ' ', parameter->get_partial_shape(), ' ',
       parameter->output(0).get_target_inputs().size());
  const auto reader = parameter->output(0).get_target_inputs().begin()->get_node();
  line(reader->get_friendly_name(), ' ', reader->input_value(0) == parameter->output(0), ' ', reader->get_output_size(),
       ' ', reader->input_value(1).get_node()->get_friendly_name(), ' ', reader->get_output_shape(0));
  // The same node is the same object.
  line(model->input().get_node() == parameter.get(), ' ', reader->get_input_node_shared_ptr(0) == parameter);
  parameter->set_friendly_name("renamed");
  line(model->input().get_node()->get_friendly_name());
  model->input().add_names({"alias"});
  line(model->input("alias") == model->input("x"), ' ', model->input().get_names().size());

  line(model->get_rt_info<std::string>("model_info", "labels"), ' ', model->has_rt_info("model_info", "labels"), ' ',
       model->has_rt_info("model_info", "nothing"));
  model->set_rt_info(std::string("mine"), "model_info", "author");
  model->get_rt_info()["plain"] = 5;
  line(model->get_rt_info<std::string>("model_info", "author"), ' ', model->get_rt_info()["plain"].as<int>(), ' ',
       model->clone()->get_rt_info<std::string>("model_info", "author"));
  refused(
      "unknown rt_info", [&] { model->get_rt_info<std::string>("model_info", "nothing"); },
      "Path to runtime attribute is incorrect");
  parameter->get_rt_info()["note"] = std::string("kept");
  line(model->get_parameters()[0]->get_rt_info()["note"].as<std::string>());

  model->reshape({2, 3, 5, 5});
  line(model->input().get_shape(), ' ', model->output().get_shape());
  model->reshape(std::map<std::string, ov::PartialShape>{{"x", {1, 3, -1, 6}}});
  line(model->input().get_partial_shape(), ' ', model->output().get_partial_shape(), ' ', model->is_dynamic());
  model->reshape(std::map<ov::Output<ov::Node>, ov::PartialShape>{{model->input(), {1, 3, 4, 4}}});
  line(model->get_output_shape(0));
  refused("a shape that does not fit", [&] { model->reshape({1, 4, 4, 4}); });
  line(model->input().get_shape());
  refused(
      "shape of a dynamic port",
      [&] {
        const auto copy = model->clone();
        copy->reshape({-1, 3, 4, 4});
        (void)copy->input().get_shape();
      },
      "to_shape was called on a dynamic shape");

  ov::layout::set_layout(model->input(), "NCHW");
  line(ov::layout::get_layout(model->input()).to_string(), ' ', parameter->get_layout().to_string(), ' ',
       ov::get_batch(model));
  ov::set_batch(model, 4);
  line(model->input().get_shape(), ' ', ov::get_batch(model));
  ov::set_batch(model, 1);

  const ov::Output<ov::Node> added = model->add_output("inner");
  line(model->outputs().size(), ' ', added.get_index(), ' ', model->output(1).get_any_name(), ' ',
       model->get_results().size());
  const auto copy = model->clone();
  line(copy != model, ' ', copy->inputs().size(), ' ', copy->input().get_any_name(), ' ',
       copy->get_ops().size() == model->get_ops().size(), ' ', copy->get_parameters()[0] == model->get_parameters()[0]);
  ov::TensorVector results(2);
  ov::Tensor x(ov::element::f32, {1, 3, 4, 4});
  std::fill_n(x.data<float>(), x.get_size(), -2.0F);
  results[0] = ov::Tensor(ov::element::f32, {1, 3, 4, 4});
  results[1] = ov::Tensor(ov::element::f32, {1, 3, 4, 4});
  const bool evaluated = copy->evaluate(results, {x});
  line(evaluated, ' ', results[0].data<float>()[47], ' ', results[1].data<float>()[0]);
  refused("no such input", [&] { model->input("nothing"); });
  refused("no such output to add", [&] { model->add_output("nothing"); });
  refused(
      "name of a port without names",
      [&] {
        for (const auto& node : copy->get_ops())
          if (ov::is_type<ov::op::v0::Constant>(node)) (void)node->output(0).get_any_name();
      },
      "Attempt to get a name for a Tensor without names");

  // Written, read again, and computed.
  const auto folder = std::filesystem::temp_directory_path() / ("ov_programs_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  ov::save_model(model, (folder / "saved.xml").string(), false);
  const auto read = core.read_model((folder / "saved.xml").string());
  line(read->get_friendly_name(), ' ', read->outputs().size(), ' ', read->input().get_names().size(), ' ',
       read->get_rt_info<std::string>("model_info", "author"), ' ', ov::layout::get_layout(read->input()).to_string());
  std::filesystem::remove_all(folder);

  // A model that is built.
  auto built_input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{-1, 2});
  built_input->output(0).set_names({"in"});
  auto result = std::make_shared<ov::op::v0::Result>(built_input);
  const auto built = std::make_shared<ov::Model>(ov::ResultVector{result}, ov::ParameterVector{built_input}, "built");
  line(built->get_friendly_name(), ' ', built->input().get_any_name(), ' ', built->get_parameters()[0] == built_input,
       ' ', built->get_result() == result, ' ', built->output().get_partial_shape());
  const auto constant = ov::op::v0::Constant::create(ov::element::i32, {3}, {1, 2, 3});
  line(constant->get_vector<int>()[1], ' ', constant->cast_vector<float>()[2], ' ', constant->get_byte_size(), ' ',
       constant->get_shape());
}
