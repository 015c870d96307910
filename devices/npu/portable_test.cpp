// SPDX-License-Identifier: Apache-2.0
// Features that must work on any driver: frames without a native input stage, deep shapes, and blobs without weights.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include <tenon/devices/npu/graph.hpp>
#include <tenon/devices/npu/testing/npu.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon::npu_testing {
namespace portable_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

void fill(const Tensor& tensor, std::uint32_t state) {
  auto* bytes = static_cast<std::uint8_t*>(tensor.data());
  for (std::size_t i = 0; i < tensor.size_bytes(); ++i) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<std::uint8_t>(state >> 24);
  }
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
  ASSERT_EQ(got.shape(), wanted.shape());
  const auto a = values_of(got), b = values_of(wanted);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

struct Picture {
  const char* what;
  InputStageOptions options;
};

std::vector<Picture> pictures() {
  InputStageOptions nv12;
  nv12.source = {kNv12, 48, 36, ColourSpace::kBt709, ColourRange::kLimited};
  nv12.width = 32, nv12.height = 32;
  nv12.fit = Fit::kLetterbox;
  nv12.pad = {114, 0, 20};
  nv12.mean = {123.675, 116.28, 103.53};
  nv12.scale = {58.395, 57.12, 57.375};
  InputStageOptions i420 = nv12;
  i420.source.format = kI420;
  i420.channels = ChannelOrder::kBgr;
  i420.fit = Fit::kCrop;
  InputStageOptions rgb;
  rgb.source = {kRgb24, 40, 30, ColourSpace::kBt601, ColourRange::kFull};
  rgb.width = 32, rgb.height = 32;
  rgb.resize = ResizeMode::kNearest;
  InputStageOptions packed = nv12;
  packed.packed = true;
  packed.colour_rule = ColourRule::kPerPixelRounded;
  return {{"NV12 letterboxed", nv12}, {"I420 cropped, to BGR", i420}, {"RGB, nearest", rgb}, {"NV12 in one", packed}};
}

TEST_F(Npu, FramesGiveTheSameOnEveryDriver) {
  for (const Picture& picture : pictures()) {
    SCOPED_TRACE(picture.what);
    const auto model = with_input_stage(*relu({1, 3, 32, 32}), "x", picture.options);
    auto request = core.compile_model(model, "NPU").create_infer_request();
    std::vector<Tensor> planes;
    for (std::size_t i = 0; i < model->inputs().size(); ++i) {
      planes.emplace_back(ElementType::kU8, model->input(i).get_shape());
      fill(planes.back(), static_cast<std::uint32_t>(i + 1));
      request.set_input_tensor(i, planes.back());
    }
    request.infer();
    expect_near(request.get_output_tensor(), evaluate(*model, planes).at(0), 0.01);
  }
}

/// The assumption of the tests above: such a driver refuses the operation itself.
TEST_F(Npu, DriversWithoutInputStagesRefuseTheOperation) {
  const auto npu = npu_device::npus().front();
  const auto model = with_input_stage(*relu({1, 3, 32, 32}), "x", pictures().front().options);
  const auto compile = [&] {
    npu_device::Graph::compile(npu, npu_device::write_in_memory_ir(*model, npu->compiler),
                               npu_device::build_flags(*model, {}, false), 0, "picture");
  };
  if (lacks("input_stage"))
    EXPECT_THAT(error_of(compile).what(), HasSubstr("InputStage"));
  else
    EXPECT_NO_THROW(compile());
}

TEST_F(Npu, FramesAreSetAsTheyComeFromADecoder) {
  const FrameInfo info{kNv12, 64, 48, ColourSpace::kBt709, ColourRange::kLimited};
  const auto model = relu({1, 3, 24, 32});
  const auto staged = with_input_stage(*model, "x", options_from(*model, info));
  auto request = core.compile_model(model, "NPU", input_frames(info)).create_infer_request();
  Frame frame = Frame::allocate(info);
  std::vector<Tensor> planes;
  for (std::size_t i = 0; i < frame.plane_count(); ++i) {
    const Tensor& plane = frame.plane(i);
    Tensor noise(ElementType::kU8, Shape{plane.size_bytes()});
    fill(noise, 7 + static_cast<std::uint32_t>(i));
    copy_strided(ElementType::kU8, plane.shape(), noise.data(), Tensor(ElementType::kU8, plane.shape()).byte_strides(),
                 plane.data(), plane.byte_strides());
    planes.emplace_back(ElementType::kU8, staged->input(i).get_shape());
    std::memcpy(planes.back().data(), noise.data(), noise.size_bytes());
  }
  request.set_frame(frame);
  request.infer();
  expect_near(request.get_output_tensor(), evaluate(*staged, planes).at(0), 0.3);
}

TEST_F(Npu, QueryNamesTheInputStageHoweverItIsPassed) {
  const auto model = with_input_stage(*relu({1, 3, 32, 32}), "x", pictures().front().options);
  const auto supported = core.query_model(model, "NPU");
  for (const auto& node : model->get_ordered_ops()) EXPECT_TRUE(supported.count(node->get_friendly_name()));
  EXPECT_LE(supported.size(), model->get_ordered_ops().size()) << "none but the model's own";
}

TEST_F(Npu, InputsAndOutputsMayHaveMoreDimensionsThanTheDriversInterface) {
  const Shape shape{2, 1, 3, 2, 2, 5};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  x->set_friendly_name("x_node");
  x->output(0).set_names({"x"});
  const auto order = op::v0::Constant::create(element::i64, Shape{6}, {5, 4, 3, 2, 1, 0});
  const auto turned = make_node("Transpose", 1, {x->output(0), order->output(0)});
  turned->output(0).set_names({"y"});
  const auto model = std::make_shared<Model>(OutputVector{turned->output(0)}, ParameterVector{x}, "deep");
  std::vector<float> values(element_count(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor input = floats(shape, values), wanted = evaluate(*model, {input}).at(0);
  auto compiled = core.compile_model(model, "NPU");
  std::stringstream blob;
  compiled.export_model(blob);
  for (CompiledModel each : {compiled, core.import_model(blob, "NPU")}) {
    EXPECT_EQ(each.input("x").get_shape(), shape);
    EXPECT_EQ(each.output("y").get_shape(), (Shape{5, 2, 2, 3, 1, 2}));
    auto request = each.create_infer_request();
    request.set_tensor("x", input);
    request.infer();
    expect_near(request.get_tensor("y"), wanted, 0);
  }
}

/// y = x * w, [1, 64] by [64, 64], so w has 16 KiB and dominates the model.
class NpuWeightless : public Npu {
 protected:
  NpuWeightless() : folder_(fs::temp_directory_path() / ("tenon_npu_weightless_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    serialize(*made(), xml());
  }
  ~NpuWeightless() override { fs::remove_all(folder_); }
  static constexpr std::size_t kSize = 256;

  static std::shared_ptr<Model> made(float scale = 1) {
    auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, kSize});
    x->output(0).set_names({"x"});
    std::vector<float> values(kSize * kSize);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<float>(i % 257) / 1000;
    const auto w = op::v0::Constant::create(element::f32, Shape{kSize, kSize}, values);
    const auto product = make_node("MatMul", 1, {x->output(0), w->output(0)});
    product->output(0).set_names({"y"});
    return std::make_shared<Model>(OutputVector{product->output(0)}, ParameterVector{x}, "product");
  }
  std::string xml() const { return (folder_ / "product.xml").string(); }
  std::string bin() const { return (folder_ / "product.bin").string(); }
  std::string exported(const std::shared_ptr<Model>& model) {
    std::stringstream stream;
    core.compile_model(model, "NPU", enable_weightless(true)).export_model(stream);
    return stream.str();
  }
  CompiledModel import(const std::string& blob, const AnyMap& properties = {}) {
    std::istringstream stream(blob);
    return core.import_model(stream, "NPU", properties);
  }
  void expect_works(CompiledModel compiled) {
    const Tensor x = floats({1, kSize}, std::vector<float>(kSize, 0.5f));
    auto request = compiled.create_infer_request();
    request.set_tensor("x", x);
    request.infer();
    expect_near(request.get_tensor("y"), evaluate(*made(), {x}).at(0), 1e-2);
  }
  void change_weights(std::size_t at) {
    std::fstream file(bin(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const char old = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(old ^ 1));
  }
  fs::path folder_;
};

TEST_F(NpuWeightless, BlobsAreSmallAndFindTheirWeightsAgain) {
  const std::string blob = exported(core.read_model(xml()));
  EXPECT_LT(blob.size(), 12'000u) << "the weights alone are " << kSize * kSize * 4;
  std::stringstream whole;
  core.compile_model(core.read_model(xml()), "NPU").export_model(whole);
  EXPECT_GT(whole.str().size(), kSize * kSize * 4) << "unless asked, blobs hold their weights";
  expect_works(import(blob, {weights_path(bin())}));
  expect_works(import(blob, {weights_path(xml())}));
  const std::shared_ptr<const Model> model = core.read_model(xml());
  expect_works(import(blob, {hint::model(model)}));
  expect_works(import(whole.str(), {weights_path("/nonexistent")}));
  core.set_property("NPU", weights_path(bin()));
  expect_works(import(blob));
}

TEST_F(NpuWeightless, ModelsThatWereNeverInAFileAreFoundInTheModelItself) {
  const std::string blob = exported(made());
  EXPECT_LT(blob.size(), 12'000u);
  const std::shared_ptr<const Model> model = made();
  expect_works(import(blob, {hint::model(model)}));
}

TEST_F(NpuWeightless, WrongWeightsAreRefused) {
  const std::string blob = exported(core.read_model(xml()));
  const auto refused = [&](const AnyMap& properties) {
    return error_of([&] { import(blob, properties); }, Code::kFailedPrecondition);
  };
  EXPECT_THAT(refused({}),
              HasSubstr("Attempted to load a weightless compiled model, but no weights have been provided"));
  EXPECT_EQ(error_of([&] { import(blob, {weights_path((folder_ / "none.bin").string())}); }).code(), Code::kNotFound);
  const std::shared_ptr<const Model> other = made(2);
  EXPECT_THAT(refused({hint::model(other)}), HasSubstr("are not those that the model was compiled with"));
  for (const std::size_t at : {std::size_t{0}, kSize * kSize * 2, kSize * kSize * 4 - 1}) {
    change_weights(at);
    EXPECT_THAT(refused({weights_path(bin())}), HasSubstr("product.bin")) << "byte " << at;
    change_weights(at);
  }
  expect_works(import(blob, {weights_path(bin())}));
  fs::resize_file(bin(), kSize * kSize * 4 - 1);
  EXPECT_THAT(refused({weights_path(bin())}), HasSubstr("are not those"));
}

TEST_F(NpuWeightless, DamagedBlobsAreRefused) {
  const std::string blob = exported(core.read_model(xml()));
  for (std::size_t at = 0; at < blob.size(); at += 97) {
    std::string tampered = blob;
    tampered[at] = static_cast<char>(tampered[at] ^ 4);
    EXPECT_THAT(error_of([&] { import(tampered, {weights_path(bin())}); }).code(),
                AnyOf(Code::kDataLoss, Code::kFailedPrecondition, Code::kInvalidArgument))
        << "byte " << at;
    EXPECT_THROW(import(blob.substr(0, at), {weights_path(bin())}), Error) << at << " bytes";
  }
}

TEST_F(NpuWeightless, CacheEntriesAreSmallWhenAskedAndHit) {
  const std::string cache = (folder_ / "cache").string();
  const AnyMap properties{cache_dir(cache), cache_mode(CacheMode::OPTIMIZE_SIZE)};
  EXPECT_FALSE(core.compile_model(xml(), "NPU", properties).get_property(loaded_from_cache));
  std::size_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cache))
    if (entry.is_regular_file()) size += entry.file_size();
  EXPECT_LT(size, 16'000u);
  auto warm = core.compile_model(xml(), "NPU", properties);
  EXPECT_TRUE(warm.get_property(loaded_from_cache));
  expect_works(warm);
  auto given = core.compile_model(core.read_model(xml()), "NPU", properties);
  expect_works(given);
}

TEST_F(Npu, ProfilesTheWholeInferenceOfABlobThatWasMadeForLayers) {
  TENON_NEEDS("profiling");
  std::stringstream blob;
  core.compile_model(relu({64, 4096}), "NPU", enable_profiling(true)).export_model(blob);
  auto request = core.import_model(blob, "NPU", AnyMap{enable_profiling(true), {"NPU_PROFILING_TYPE", "INFER"}})
                     .create_infer_request();
  request.infer();
  const auto infos = request.get_profiling_info();
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_GT(infos[0].real_time.count(), 0);
}

TEST_F(Npu, OneInputsLayoutNamesTheBatchForAll) {
  const auto model = [](const char* first, const char* second) {
    auto a = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 2});
    auto b = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 2});
    a->output(0).set_names({"a"});
    b->output(0).set_names({"b"});
    if (first) a->get_rt_info()["layout"] = Any(std::string(first));
    if (second) b->get_rt_info()["layout"] = Any(std::string(second));
    auto sum = std::make_shared<op::v1::Add>(a->output(0), b->output(0));
    return std::make_shared<Model>(OutputVector{sum->output(0)}, ParameterVector{a, b}, "sum");
  };
  auto request = core.compile_model(model("NC", nullptr), "NPU").create_infer_request();
  for (const std::size_t batch : {3u, 1u, 7u}) {
    request.set_tensor("a", floats({batch, 2}, std::vector<float>(batch * 2, 1)));
    request.set_tensor("b", floats({batch, 2}, std::vector<float>(batch * 2, 2)));
    request.infer();
    EXPECT_EQ(request.get_output_tensor().shape(), (Shape{batch, 2}));
    EXPECT_THAT(values_of(request.get_output_tensor()), ::testing::Each(3));
  }
  // Without a layout, or with one that denies a batch at axis 0, the driver's compiler needs bounds.
  EXPECT_THROW(core.compile_model(model(nullptr, nullptr), "NPU"), Error);
  EXPECT_THROW(core.compile_model(model("NC", "CN"), "NPU"), Error);
}

TEST_F(Npu, SettingAStateIsBookedAsACopy) {
  const Attributes variable{
      {"variable_id", "sum"}, {"variable_shape", PartialShape{1, 2}}, {"variable_type", element::f32}};
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2});
  x->output(0).set_names({"x"});
  auto read =
      make_node("ReadValue", 6, {op::v0::Constant::create(element::f32, Shape{1, 2}, {0, 0})->output(0)}, variable);
  auto sum = std::make_shared<op::v1::Add>(x->output(0), read->output(0));
  auto assign = make_node("Assign", 6, {sum->output(0)}, Attributes{{"variable_id", "sum"}});
  const auto model =
      std::make_shared<Model>(OutputVector{sum->output(0)}, SinkVector{assign}, ParameterVector{x}, "sum");
  auto request = core.compile_model(model, "NPU").create_infer_request();
  const auto before = request.ledger().total().copied;
  request.query_state().at(0).set_state(floats({1, 2}, {3, 4}));
  EXPECT_EQ(request.ledger().total().copied - before, 8u);
}

}  // namespace portable_test
}  // namespace tenon::npu_testing
