// SPDX-License-Identifier: Apache-2.0
// Front ends by name and by file, and models that are changed before they become an ov::Model.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <openvino/frontend/manager.hpp>

#include "programs.hpp"

void frontends() {
  ov::frontend::FrontEndManager manager;
  const auto names = manager.get_available_front_ends();
  line("ir ", std::count(names.begin(), names.end(), "ir"), " onnx ", std::count(names.begin(), names.end(), "onnx"));
  refused(
      "a format that there is not", [&] { manager.load_by_framework("punched cards"); }, "punched cards");
  refused(
      "a file that there is not", [&] { manager.load_by_model(std::string("none.xml")); }, "Could not open the file");

  ov::Core core;
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string xml = (folder / ("compat_frontends_" + std::to_string(::getpid()) + ".xml")).string(),
                    bin = xml.substr(0, xml.size() - 3) + "bin";
  ov::serialize(small_model(core), xml, bin);
  const auto by_model = manager.load_by_model(xml);
  line("by model ", by_model ? by_model->get_name() : "none");
  const auto reader = manager.load_by_framework("ir");
  line("takes ", reader->supported(xml), ' ', reader->supported(bin), ' ', manager.load_by_model(bin) == nullptr);
  const auto loaded = reader->load(xml);
  const auto model = reader->convert(loaded);
  line("model ", model->input().get_any_name(), model->input().get_partial_shape(), ' ',
       model->output().get_any_name());
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  ov::Tensor input = request.get_input_tensor();
  std::fill_n(input.data<float>(), input.get_size(), -1.5F);
  request.infer();
  print_values("y", request.get_output_tensor(), 3);
  std::remove(xml.c_str());
  std::remove(bin.c_str());
}
