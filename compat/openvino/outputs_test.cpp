// SPDX-License-Identifier: Apache-2.0
// The files that passes write appear whole, and take the place of a link instead of following it. In C++17, as all that uses these headers.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include <openvino/core/model.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/pass/serialize.hpp>
#include <openvino/pass/visualize_tree.hpp>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
void expect(bool is_so, const std::string& what) {
  if (is_so) return;
  std::cerr << "not so: " << what << "\n";
  std::exit(1);
}

std::shared_ptr<ov::Model> model_of_abs() {
  const auto in = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{2});
  return std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v0::Abs>(in)}, ov::ParameterVector{in},
                                     "m");
}

}  // namespace

int main() {
  std::string folder = (fs::temp_directory_path() / "tenon_outputs_XXXXXX").string();
  expect(::mkdtemp(folder.data()) != nullptr, "a folder");
  const fs::path precious = fs::path(folder) / "precious", picture = fs::path(folder) / "picture.dot",
                 ir = fs::path(folder) / "m.xml";
  std::ofstream(precious) << "mine";
  fs::create_symlink(precious, picture);
  fs::create_symlink(precious, ir);
  ov::pass::VisualizeTree(picture.string()).run_on_model(model_of_abs());
  expect(text_of(precious) == "mine", "VisualizeTree does not write through a link");
  expect(!fs::is_symlink(picture) && text_of(picture).find("Abs") != std::string::npos, "the picture took its place");
  ov::pass::Serialize(ir.string(), "").run_on_model(model_of_abs());
  expect(text_of(precious) == "mine" && text_of(ir).find("<net") != std::string::npos, "Serialize does not, either");
  try {
    ov::pass::VisualizeTree(folder + "/none/picture.dot").run_on_model(model_of_abs());
    expect(false, "a folder that is missing is an error");
  } catch (const ov::Exception& error) {
    expect(std::string(error.what()).find("picture.dot") != std::string::npos, error.what());
  }
  fs::remove_all(folder);
  return 0;
}
