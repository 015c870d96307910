// SPDX-License-Identifier: Apache-2.0
// The input stage's results (against OpenVINO and by hand), models' descriptions of their input, and models that take
// frames.
#include <tenon/graph/input_stage/input_stage.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace input_stage_input_stage_test {

using namespace tenon;

struct Oracle {
  const char* name;
  const char* format;
  std::uint32_t w, h;
  std::size_t width, height;
  unsigned low, high;
  std::string channels, mode;
  std::array<double, 3> mean, scale;
  std::vector<float> values;
};

const Oracle kOracles[] = {
#include <tenon/graph/input_stage/input_stage_oracle.inc>
};

/// Like noise() in input_stage_oracle.py, with rows `pitch` apart and poison in between.
std::vector<std::uint8_t> noise(std::size_t rows, std::size_t row, std::size_t pitch, std::uint32_t state, unsigned low,
                                unsigned high, std::uint8_t poison) {
  std::vector<std::uint8_t> bytes(rows * pitch, poison);
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t x = 0; x < row; ++x) {
      state = state * 1664525u + 1013904223u;
      bytes[y * pitch + x] = static_cast<std::uint8_t>(low + (state >> 24) * (high - low) / 255);
    }
  }
  return bytes;
}

InputStageOptions basic(PixelFormat format, std::uint32_t w, std::uint32_t h, std::size_t width, std::size_t height) {
  InputStageOptions options;
  options.source = {format, w, h, ColourSpace::kBt601, ColourRange::kUnknown};
  options.width = width;
  options.height = height;
  return options;
}

std::vector<float> run(const InputStageOptions& options, std::span<const PlaneView> planes) {
  const InputStageSpec spec = make_spec(options);
  std::vector<float> out(element_count(spec.target_shape()));
  run_input_stage_reference(spec, planes, out.data());
  return out;
}

TEST(InputStage, AgreesWithOpenVinosPrePostProcessor) {
  for (const Oracle& oracle : kOracles) {
    SCOPED_TRACE(oracle.name);
    auto options = basic(*format_from_name(oracle.format), oracle.w, oracle.h, oracle.width, oracle.height);
    options.channels = oracle.channels == "BGR" ? ChannelOrder::kBgr : ChannelOrder::kRgb;
    options.resize = oracle.mode == "linear" ? ResizeMode::kLinear : ResizeMode::kNearest;
    options.mean = oracle.mean;
    options.scale = oracle.scale;
    const InputStageSpec spec = make_spec(options);
    std::vector<std::vector<std::uint8_t>> blocks;
    std::vector<PlaneView> planes;
    for (std::size_t plane = 0; plane < spec.layout.plane_count; ++plane) {
      const Shape shape = spec.plane_shape(plane);
      const std::size_t row = shape[2] * shape[3], pitch = row + 7;
      blocks.push_back(
          noise(shape[1], row, pitch, static_cast<std::uint32_t>(100 + plane), oracle.low, oracle.high, 0xFF));
      planes.push_back({blocks.back().data(), static_cast<std::ptrdiff_t>(pitch)});
    }
    const auto found = run(options, planes);
    ASSERT_EQ(found.size(), oracle.values.size());
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double scale = oracle.scale[i / (oracle.width * oracle.height)];
      worst = std::max(worst, std::abs(static_cast<double>(found[i]) - static_cast<double>(oracle.values[i])) * scale);
    }
    // OpenVINO rounds the matrix to three digits (2.018 for 2.01723): up to 0.2 of an 8-bit step; RGB has no matrix.
    EXPECT_LE(worst, std::string(oracle.format) == "rgb" ? 0.001 : 0.2);
  }
}

TEST(InputStage, ConvertsTheCornersOfEveryColourSpace) {
  // @source the standards' own definition: Y' = Kr R + Kg G + Kb B, limited range 16..235 and 16..240.
  struct Row {
    ColourSpace space;
    double kr, kb;
  };
  for (const Row& row : {Row{ColourSpace::kBt601, 0.299, 0.114}, Row{ColourSpace::kBt709, 0.2126, 0.0722},
                         Row{ColourSpace::kBt2020, 0.2627, 0.0593}}) {
    for (bool full : {false, true}) {
      for (int corner = 0; corner < 8; ++corner) {
        const double r = corner & 1, g = corner >> 1 & 1, b = corner >> 2 & 1;
        const double y = row.kr * r + (1 - row.kr - row.kb) * g + row.kb * b;
        const double u = (b - y) / (2 * (1 - row.kb)), v = (r - y) / (2 * (1 - row.kr));
        const auto code = [](double value) {
          return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
        };
        std::uint8_t luma = code(full ? 255 * y : 16 + 219 * y), cu = code(128 + (full ? 255 : 224) * u),
                     cv = code(128 + (full ? 255 : 224) * v);
        auto options = basic(kI444, 1, 1, 1, 1);
        options.source.colour_space = row.space;
        options.source.colour_range = full ? ColourRange::kFull : ColourRange::kLimited;
        const PlaneView planes[] = {{&luma, 1}, {&cu, 1}, {&cv, 1}};
        const auto rgb = run(options, planes);
        EXPECT_NEAR(rgb[0], 255 * r, 1.6);
        EXPECT_NEAR(rgb[1], 255 * g, 1.6);
        EXPECT_NEAR(rgb[2], 255 * b, 1.6);
      }
    }
  }
}

/// `stored` turned clockwise pixel by pixel, as a player shows it.
std::vector<std::uint8_t> turned(const std::vector<std::uint8_t>& stored, std::size_t width, std::size_t height,
                                 std::size_t pixel, unsigned quarters) {
  std::vector<std::uint8_t> now = stored;
  if (quarters >= 4) {  // Mirrored left to right first.
    quarters -= 4;
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        std::copy_n(&stored[(y * width + x) * pixel], pixel, &now[(y * width + (width - 1 - x)) * pixel]);
  }
  for (; quarters > 0; --quarters, std::swap(width, height)) {
    std::vector<std::uint8_t> next(now.size());
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        std::copy_n(&now[(y * width + x) * pixel], pixel, &next[(x * height + (height - 1 - y)) * pixel]);
    now = std::move(next);
  }
  return now;
}

/// The kernel's [.., rows, columns] as the model receives it.
std::vector<float> as_model_input(const InputStageSpec& spec, const std::vector<float>& written) {
  if (!spec.transposed) return written;
  std::vector<float> out(written.size());
  for (std::size_t c = 0; c < spec.channels; ++c)
    for (std::size_t y = 0; y < spec.height; ++y)
      for (std::size_t x = 0; x < spec.width; ++x) {
        const std::size_t from = spec.planar ? (c * spec.height + y) * spec.width + x
                                             : (y * spec.width + x) * spec.channels + c,
                          to = spec.planar ? (c * spec.width + x) * spec.height + y
                                           : (x * spec.height + y) * spec.channels + c;
        out[to] = written[from];
      }
  return out;
}

TEST(InputStage, TurnsStoredPicturesUpright) {
  for (const PixelFormat format : {kI420, kNv12, kI444, kP010, kGray8, kGray16, kBgr24, kRgba, kGbrPlanar}) {
    for (const Rotation rotation : {Rotation::k90, Rotation::k180, Rotation::k270, Rotation::kMirrored,
                                    Rotation::kMirrored90, Rotation::kMirrored180, Rotation::kMirrored270}) {
      for (const Fit fit : {Fit::kStretch, Fit::kLetterbox, Fit::kTopLeft, Fit::kCrop}) {
        for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kNearest}) {
          for (const ImageLayout layout : {ImageLayout::kNchw, ImageLayout::kNhwc}) {
            for (const PixelRect crop : {PixelRect{}, PixelRect{2, 6, 17, 9}}) {
              SCOPED_TRACE(to_string(format) + " " + std::to_string(degrees(rotation)) + " fit " +
                           std::to_string(static_cast<int>(fit)) + " mode " + std::to_string(static_cast<int>(mode)));
              auto stored = basic(format, 36, 22, 25, 30);
              stored.source.rotation = rotation;
              stored.fit = fit;
              stored.resize = mode;
              stored.layout = layout;
              stored.crop = crop;
              stored.pad = {10, 20, 30};
              stored.mean = {1, 2, 3};
              auto upright = stored;
              upright.source.rotation = Rotation::kNone;
              upright.source.width_px = stored.source.upright_width_px();
              upright.source.height_px = stored.source.upright_height_px();
              const InputStageSpec spec = make_spec(stored), plain = make_spec(upright);
              std::vector<std::vector<std::uint8_t>> bytes, shown;
              std::vector<PlaneView> planes, shown_planes;
              for (std::size_t p = 0; p < spec.layout.plane_count; ++p) {
                const Shape shape = spec.plane_shape(p), other = plain.plane_shape(p);
                const std::size_t pixel = shape[3] * size_bytes(spec.layout.sample_type());
                bytes.push_back(
                    noise(shape[1], shape[2] * pixel, shape[2] * pixel, static_cast<std::uint32_t>(7 + p), 0, 255, 0));
                shown.push_back(turned(bytes.back(), shape[2], shape[1], pixel, static_cast<unsigned>(rotation)));
                planes.push_back({bytes.back().data(), static_cast<std::ptrdiff_t>(shape[2] * pixel)});
                shown_planes.push_back({shown.back().data(), static_cast<std::ptrdiff_t>(other[2] * pixel)});
              }
              EXPECT_EQ(spec.model_shape(), plain.target_shape());
              EXPECT_EQ(spec.upright.crop, plain.geometry.crop);
              EXPECT_EQ(spec.upright.placed, plain.geometry.placed);
              const auto found = as_model_input(spec, run(stored, planes)), wanted = run(upright, shown_planes);
              ASSERT_EQ(found.size(), wanted.size());
              double worst = 0;
              for (std::size_t i = 0; i < found.size(); ++i)
                worst = std::max(worst, std::abs(static_cast<double>(found[i]) - static_cast<double>(wanted[i])));
              ASSERT_LE(worst, 1e-3);
            }
          }
        }
      }
    }
  }
}

TEST(InputStage, TurnsHalvedColumnsToo) {
  // 4:2:2 turned by a quarter is no longer 4:2:2: compared with the same samples as 4:4:4.
  for (const Rotation rotation :
       {Rotation::k90, Rotation::k180, Rotation::k270, Rotation::kMirrored90, Rotation::kMirrored270}) {
    auto halved = basic(kI422, 20, 10, 16, 16), full = basic(kI444, 20, 10, 16, 16);
    halved.resize = full.resize = ResizeMode::kNearest;
    halved.source.rotation = full.source.rotation = rotation;
    const auto y = noise(10, 20, 20, 1, 0, 255, 0), u = noise(10, 10, 10, 2, 0, 255, 0),
               v = noise(10, 10, 10, 3, 0, 255, 0);
    std::vector<std::uint8_t> all_u(200), all_v(200);
    for (std::size_t i = 0; i < 200; ++i) all_u[i] = u[i / 2], all_v[i] = v[i / 2];
    const PlaneView few[] = {{y.data(), 20}, {u.data(), 10}, {v.data(), 10}},
                    all[] = {{y.data(), 20}, {all_u.data(), 20}, {all_v.data(), 20}};
    EXPECT_EQ(run(halved, few), run(full, all));
  }
}

TEST(InputStage, APartOfATurnedPictureIsTheSameInBothPictures) {
  // By hand: the stored picture is 4 wide and 3 high.
  EXPECT_EQ(stored_rect({0, 0, 1, 1}, Rotation::k90, 4, 3), (PixelRect{0, 2, 1, 1}));
  EXPECT_EQ(stored_rect({2, 3, 1, 1}, Rotation::k90, 4, 3), (PixelRect{3, 0, 1, 1}));
  EXPECT_EQ(stored_rect({0, 0, 1, 1}, Rotation::k180, 4, 3), (PixelRect{3, 2, 1, 1}));
  EXPECT_EQ(stored_rect({0, 0, 1, 1}, Rotation::k270, 4, 3), (PixelRect{3, 0, 1, 1}));
  EXPECT_EQ(stored_rect({1, 0, 2, 3}, Rotation::k270, 4, 3), (PixelRect{1, 1, 3, 2}));
  EXPECT_EQ(stored_rect({1, 0, 2, 3}, Rotation::kNone, 4, 3), (PixelRect{1, 0, 2, 3}));
  EXPECT_EQ(stored_rect({0, 0, 1, 1}, Rotation::kMirrored, 4, 3), (PixelRect{3, 0, 1, 1}));
  EXPECT_EQ(stored_rect({0, 0, 1, 1}, Rotation::kMirrored90, 4, 3), (PixelRect{3, 2, 1, 1}));
  EXPECT_EQ(stored_rect({0, 0, 1, 1}, Rotation::kMirrored180, 4, 3), (PixelRect{0, 2, 1, 1}));
  EXPECT_EQ(stored_rect({0, 1, 1, 1}, Rotation::kMirrored270, 4, 3), (PixelRect{1, 0, 1, 1}))
      << "EXIF 5: a transposition";
  for (unsigned r = 0; r < 8; ++r) {
    const auto rotation = static_cast<Rotation>(r);
    const Area<int> upright{1, 0, 2, 1};
    EXPECT_EQ(upright_area(stored_area(upright, rotation, 4, 3), rotation, 4, 3), upright) << to_string(rotation);
  }
}

TEST(InputStage, GreyOfSixteenBitsIsReadWhole) {
  const std::uint16_t samples[] = {0, 0x0100, 0x8000, 0xffff};
  const PlaneView plane{samples, 8};
  InputStageOptions options = basic(kGray16, 4, 1, 4, 1);
  options.channels = ChannelOrder::kGray;
  const auto full = run(options, {&plane, 1});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(full[i], samples[i] * 255.0 / 65535, 1e-4) << i;
  options.source.colour_range = ColourRange::kLimited;
  const auto limited = run(options, {&plane, 1});
  EXPECT_NEAR(limited[2], (128.0 - 16) * 255 / 219, 1e-3);
}

TEST(InputStage, Smpte240mHasWeightsOfItsOwn) {
  const LumaWeights weights = luma_weights(ColourSpace::kSmpte240m);
  EXPECT_DOUBLE_EQ(weights.red, 0.212);
  EXPECT_DOUBLE_EQ(weights.blue, 0.087);
}

TEST(InputStage, UnknownColourFollowsTheHeight) {
  std::uint8_t y = 120;
  std::uint8_t u = 90, v = 170;
  const auto of = [&](std::uint32_t h, ColourSpace space) {
    auto options = basic(kI444, 1, h, 1, h);
    options.source.colour_space = space;
    const PlaneView planes[] = {{&y, 0}, {&u, 0}, {&v, 0}};
    return run(options, planes);
  };
  EXPECT_EQ(of(719, ColourSpace::kUnknown), of(719, ColourSpace::kBt601));
  EXPECT_EQ(of(720, ColourSpace::kUnknown), of(720, ColourSpace::kBt709));
  EXPECT_NE(of(720, ColourSpace::kUnknown), of(720, ColourSpace::kBt601));
}

// OpenVINO's GPU plugin reads NV12 surfaces for a model of one channel as Y * 296.82 / 255 - 18.624, clamped.
TEST(InputStage, OneChannelIsTheLumaOfThePictureAsRgb) {
  std::vector<std::uint8_t> y{0, 16, 17, 100, 126, 234, 235, 255}, uv(8, 128);
  auto options = basic(kNv12, 8, 1, 8, 1);
  options.channels = ChannelOrder::kGray;
  const PlaneView planes[] = {{y.data(), 8}, {uv.data(), 8}};
  const auto limited = run(options, planes);
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(limited[i], std::clamp(y[i] * 296.82 / 255 - 18.624, 0.0, 255.0), 0.1) << static_cast<int>(y[i]);
  options.source.colour_range = ColourRange::kFull;
  const auto full = run(options, planes);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(full[i], y[i], 1e-3);
}

TEST(InputStage, P010HoldsItsValueInTheHighBits) {
  const std::uint16_t y = 940 << 6 | 63, uv[2] = {512 << 6, 512 << 6};  // white; the low bits are not part of the value
  const PlaneView planes[] = {{&y, 2}, {uv, 4}};
  for (float value : run(basic(kP010, 1, 1, 1, 1), planes)) EXPECT_NEAR(value, 255, 1e-3);
}

TEST(InputStage, LetterboxPadsBesideThePictureAndCentresIt) {
  const std::vector<std::uint8_t> grey(4 * 2, 200);
  auto options = basic(kGray8, 4, 2, 4, 4);
  options.fit = Fit::kLetterbox;
  options.pad = {1, 2, 3};
  options.mean = {1, 1, 1};
  options.scale = {2, 2, 2};
  const PlaneView planes[] = {{grey.data(), 4}};
  const auto out = run(options, planes);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 16; ++i) {
      const bool inside = i >= 4 && i < 12;
      EXPECT_EQ(out[c * 16 + i], inside ? 99.5f : static_cast<float>(c) / 2) << c << ' ' << i;
    }
  }
  const FrameGeometry g = make_geometry(1280, 720, {}, 640, 640, Fit::kLetterbox);
  EXPECT_EQ(g.placed, (PixelRect{0, 140, 640, 360}));
  EXPECT_EQ(make_geometry(1280, 720, {}, 640, 640, Fit::kTopLeft).placed, (PixelRect{0, 0, 640, 360}));
  EXPECT_EQ(make_geometry(1280, 720, {}, 640, 640, Fit::kCrop).crop, (PixelRect{280, 0, 720, 720}));
  EXPECT_DOUBLE_EQ(g.source_x(g.target_x(333)), 333);
  EXPECT_DOUBLE_EQ(g.source_y(140), 0);
  EXPECT_DOUBLE_EQ(g.source_y(500), 720);
}

TEST(InputStage, ReadsOnlyTheCrop) {
  // A crop of the left half equals the left half on its own.
  const auto whole = noise(8, 16, 16, 5, 0, 255, 0), poisoned = [&] {
    auto copy = whole;
    for (std::size_t y = 0; y < 8; ++y) std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(y * 16 + 8), 8, 0xEE);
    return copy;
  }();
  auto options = basic(kGray8, 16, 8, 5, 5);
  options.crop = {0, 0, 8, 8};
  const PlaneView a[] = {{whole.data(), 16}}, b[] = {{poisoned.data(), 16}};
  EXPECT_EQ(run(options, a), run(options, b));
  EXPECT_EQ(run(options, a), run(basic(kGray8, 8, 8, 5, 5), a));
}

TEST(InputStage, RefusesWhatMakesNoSense) {
  const auto bad = [](auto change) {
    auto options = basic(kNv12, 64, 48, 32, 24);
    change(options);
    EXPECT_THROW(make_spec(options), Error);
  };
  bad([](auto& o) { o.source.width_px = 0; });
  bad([](auto& o) { o.source.height_px = 70000; });
  bad([](auto& o) { o.width = 0; });
  bad([](auto& o) { o.height = std::size_t{1} << 40; });
  bad([](auto& o) { o.crop = {60, 0, 5, 1}; });
  bad([](auto& o) { o.crop = {0, 0, 0, 1}; });
  bad([](auto& o) { o.crop = {1, 1, std::size_t(-1), 4}; });
  bad([](auto& o) { o.scale[1] = 0; });
  bad([](auto& o) { o.mean[2] = NAN; });
  bad([](auto& o) { o.type = ElementType::kI64; });
  bad([](auto& o) { o.source.format.modifier = 0x0100000000000001; });
  bad([](auto& o) { o.source.format = {fourcc('Z', 'Z', 'Z', 'Z')}; });
}

TEST(InputStage, ChecksPlanesBeforeItReadsThem) {
  const InputStageSpec spec = make_spec(basic(kNv12, 6, 4, 3, 2));
  std::vector<std::uint8_t> bytes(256);
  const auto plane = [&](Shape shape, ByteStrides strides = {}, ElementType type = ElementType::kU8) {
    return Tensor(type, shape, bytes.data(), strides);
  };
  const Tensor y = plane({1, 4, 6, 1}), uv = plane({1, 2, 3, 2});
  EXPECT_NO_THROW(plane_views(spec, std::vector{y, uv}));
  EXPECT_NO_THROW(plane_views(spec, std::vector{plane({4, 6}, {16, 1}), plane({2, 3, 2}, {16, 2, 1})}));
  EXPECT_EQ(plane_views(spec, std::vector{plane({4, 6}, {16, 1}), uv})[0].pitch_bytes, 16);
  const auto bad = [&](std::vector<Tensor> tensors) { EXPECT_THROW(plane_views(spec, tensors), Error); };
  bad({y});
  bad({y, uv, uv});
  bad({uv, y});
  bad({y, Tensor()});
  bad({plane({1, 4, 5, 1}), uv});
  bad({plane({1, 4, 6, 1}, {}, ElementType::kI8), uv});
  bad({plane({4, 6}, {4, 1}), uv});               // rows overlap
  bad({plane({4, 6}, {16, 2}), uv});              // samples not packed
  bad({y, plane({1, 2, 3, 2}, {12, 12, 4, 1})});  // chroma pairs not packed
  const InputStageSpec wide = make_spec(basic(kP010, 6, 4, 3, 2));
  const Tensor wide_uv = plane({1, 2, 3, 2}, {}, ElementType::kU16);
  EXPECT_NO_THROW(plane_views(wide, std::vector{plane({4, 6}, {14, 2}, ElementType::kU16), wide_uv}));
  EXPECT_THROW(plane_views(wide, std::vector{plane({4, 6}, {13, 2}, ElementType::kU16), wide_uv}), Error);
  const InputStageSpec with_alpha = make_spec(basic(kNv12a, 6, 4, 3, 2));
  EXPECT_NO_THROW(plane_views(with_alpha, std::vector{y, uv})) << "the planes of the model's inputs";
  EXPECT_NO_THROW(plane_views(with_alpha, std::vector{y, uv, y})) << "the planes of a frame";
  EXPECT_THROW(plane_views(with_alpha, std::vector{y, uv, y, y}), Error);
  const Tensor good(ElementType::kF32, {1, 3, 2, 3});
  EXPECT_NO_THROW(check_target(spec, good));
  EXPECT_THROW(check_target(spec, Tensor(ElementType::kF16, {1, 3, 2, 3})), Error);
  EXPECT_THROW(check_target(spec, Tensor(ElementType::kF32, {1, 2, 3, 3})), Error);
  EXPECT_THROW(check_target(spec, Tensor()), Error);
}

std::shared_ptr<Model> picture_model(const PartialShape& shape, const AnyMap& info = {}) {
  auto image = std::make_shared<op::v0::Parameter>(element::f32, shape);
  image->set_friendly_name("image");
  image->output(0).set_names({"image"});
  auto other = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1});
  other->set_friendly_name("other");
  other->output(0).set_names({"other"});
  auto sum = std::make_shared<op::v1::Add>(image->output(0), other->output(0));
  sum->output(0).set_names({"sum"});
  auto model = std::make_shared<Model>(OutputVector{sum->output(0)}, ParameterVector{image, other}, "picture");
  for (const auto& [key, value] : info) model->set_rt_info(value, {"model_info", key});
  return model;
}

TEST(InputStage, ReadsModelInfoAsModelApiWritesIt) {
  const FrameInfo frame{kNv12, 640, 360};
  auto options = options_from(*picture_model({1, 3, 32, 64}, {{"mean_values", "123.675 116.28 103.53"},
                                                              {"scale_values", "58.395,57.12 57.375"},
                                                              {"reverse_input_channels", "YES"},
                                                              {"resize_type", "fit_to_window_letterbox"},
                                                              {"pad_value", "114"}}),
                              frame);
  for (const char* const pad : {"256", "-1", "0 0 1e9", "nan"})
    EXPECT_THROW(options_from(*picture_model({1, 3, 32, 64}, {{"pad_value", pad}}), frame), Error) << pad;
  EXPECT_EQ(options.width, 64u);
  EXPECT_EQ(options.height, 32u);
  EXPECT_EQ(options.mean, (std::array<double, 3>{123.675, 116.28, 103.53}));
  EXPECT_EQ(options.scale, (std::array<double, 3>{58.395, 57.12, 57.375}));
  EXPECT_EQ(options.pad, (std::array<double, 3>{114, 114, 114}));
  EXPECT_EQ(options.fit, Fit::kLetterbox);
  EXPECT_EQ(options.channels, ChannelOrder::kRgb);
  EXPECT_EQ(options_from(*picture_model({1, 3, 32, 64}, {{"reverse_input_channels", "NO"}}), frame).channels,
            ChannelOrder::kBgr);
  EXPECT_EQ(options_from(*picture_model({1, 3, 32, 64}), frame).channels, ChannelOrder::kRgb);
  EXPECT_EQ(
      options_from(*picture_model({1, 3, 32, 64}, {{"reverse_input_channels", "NO"}, {"color_space", "RGB"}}), frame)
          .channels,
      ChannelOrder::kRgb);
  EXPECT_EQ(options_from(*picture_model({1, 1, 32, 64}), frame).channels, ChannelOrder::kGray);
  options = options_from(*picture_model({1, 32, 64, 3}), frame);
  EXPECT_EQ(options.layout, ImageLayout::kNhwc);
  EXPECT_EQ(options.width, 64u);
  options = options_from(*picture_model({-1, 3, -1, -1}), frame, "image");
  EXPECT_EQ(options.width, 640u);
  EXPECT_EQ(options.height, 360u);
}

TEST(InputStage, SaysWhichModelInfoIsWrong) {
  const auto message = [](const PartialShape& shape, const AnyMap& info, const std::string& input = {}) -> std::string {
    try {
      options_from(*picture_model(shape, info), {kNv12, 640, 360}, input);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(message({1, 3, 8, 8}, {{"mean_values", "1 2"}}), "mean_values"));
  EXPECT_TRUE(has(message({1, 3, 8, 8}, {{"scale_values", "abc"}}), "abc"));
  EXPECT_TRUE(has(message({1, 3, 8, 8}, {{"mean_values", "nan"}}), "nan"));
  EXPECT_TRUE(has(message({1, 3, 8, 8}, {{"resize_type", "squash"}}), "fit_to_window_letterbox"));
  EXPECT_TRUE(has(message({1, 3, 8, 8}, {{"reverse_input_channels", "maybe"}}), "YES or NO"));
  EXPECT_TRUE(has(message({1, 3, 8, 8}, {{"color_space", "CMYK"}}), "RGB, BGR, GRAY"));
  EXPECT_TRUE(has(message({1, 3, 8, 8}, {}, "nope"), "\"image\""));
  EXPECT_TRUE(has(message({3, 8}, {}), "[1,c,h,w]"));
  EXPECT_TRUE(has(message({1, 5, 8, 8}, {}), "1 or 3"));
  EXPECT_TRUE(has(message({4, 3, 8, 8}, {}), "batch"));
}

TEST(InputStage, ReplacesOneInputByItsPlanes) {
  const auto model = picture_model({1, 3, 4, 6});
  auto options = options_from(*model, {kNv12, 12, 8, ColourSpace::kBt709});
  options.mean = {10, 20, 30};
  const auto staged = with_input_stage(*model, "image", options);
  ASSERT_EQ(staged->inputs().size(), 3u);
  EXPECT_EQ(staged->input(0).get_any_name(), "image/y");
  EXPECT_EQ(staged->input(1).get_any_name(), "image/uv");
  EXPECT_EQ(staged->input(2).get_any_name(), "other");
  EXPECT_EQ(staged->get_parameters()[0]->get_friendly_name(), "image/y");
  EXPECT_EQ(staged->input(0).get_shape(), (Shape{1, 8, 12, 1}));
  EXPECT_EQ(staged->input(1).get_shape(), (Shape{1, 4, 6, 2}));
  EXPECT_EQ(model->inputs().size(), 2u) << "the original must not change";
  ASSERT_TRUE(geometry_of(*staged));
  EXPECT_FALSE(geometry_of(*model));
  EXPECT_EQ(geometry_of(*staged)->crop, (PixelRect{0, 0, 12, 8}));

  const auto y = noise(8, 12, 20, 1, 16, 235, 0xEE), uv = noise(4, 12, 20, 2, 90, 160, 0xEE);
  const Tensor planes[] = {
      Tensor(ElementType::kU8, {1, 8, 12, 1}, const_cast<std::uint8_t*>(y.data()), {160, 20, 1, 1}),
      Tensor(ElementType::kU8, {1, 4, 6, 2}, const_cast<std::uint8_t*>(uv.data()), {80, 20, 2, 1})};
  float one = 0;
  const auto found = evaluate(*staged, {planes[0], planes[1], Tensor(ElementType::kF32, {1}, &one)});
  const PlaneView views[] = {{y.data(), 20}, {uv.data(), 20}};
  const auto expected = run(options, views);
  ASSERT_EQ(found.at(0).size_bytes(), expected.size() * 4);
  EXPECT_EQ(std::memcmp(found[0].data(), expected.data(), expected.size() * 4), 0);
}

TEST(InputStage, SurvivesTheWayThroughIr) {
  const auto model = picture_model({1, 3, 4, 6});
  auto options = options_from(*model, {kNv12, 12, 8, ColourSpace::kBt2020, ColourRange::kFull});
  options.mean = {123.675, 116.28, 103.53};
  options.scale = {58.395, 57.12, 57.375};
  options.pad = {114, 0, 1};
  options.fit = Fit::kLetterbox;
  options.crop = {2, 2, 8, 4};
  const auto staged = with_input_stage(*model, "image", options);
  const SerializedModel written = serialize(*staged);
  const auto read = read_ir(written.xml, written.weights);
  ASSERT_EQ(read->inputs().size(), 3u);
  EXPECT_EQ(read->input("image/uv").get_shape(), (Shape{1, 4, 6, 2}));
  Tensor y(ElementType::kU8, {1, 8, 12, 1}), uv(ElementType::kU8, {1, 4, 6, 2}), other(ElementType::kF32, {1});
  const auto bytes = noise(8, 12, 12, 9, 0, 255, 0);
  std::memcpy(y.data(), bytes.data(), 96);
  std::memcpy(uv.data(), bytes.data() + 40, 48);
  *other.data<float>() = 0.5f;
  const auto before = evaluate(*staged, {y, uv, other}), after = evaluate(*read, {y, uv, other});
  ASSERT_EQ(before.at(0).size_bytes(), after.at(0).size_bytes());
  EXPECT_EQ(std::memcmp(before[0].data(), after[0].data(), before[0].size_bytes()), 0);
}

TEST(InputStage, NamesThePlanesOfEveryFormat) {
  const auto names = [](PixelFormat format) {
    const auto model = picture_model({1, 3, 4, 6});
    std::string all;
    const auto staged = with_input_stage(*model, {}, options_from(*model, {format, 12, 8}));
    for (const auto& input : staged->inputs()) all += input.get_any_name() + " ";
    return all;
  };
  EXPECT_EQ(names(kI420), "image/y image/u image/v other ");
  EXPECT_EQ(names(kNv12), "image/y image/uv other ");
  EXPECT_EQ(names(kP010), "image/y image/uv other ");
  EXPECT_EQ(names(kRgb24), "image other ");
  EXPECT_EQ(names(kGray8), "image other ");
  EXPECT_EQ(names(kRgbPlanar), "image/r image/g image/b other ");
  EXPECT_EQ(names(kYv12), "image/y image/v image/u other ");
  EXPECT_EQ(names(kGbra16), "image/g image/b image/r other ") << "alpha is not read";
  EXPECT_EQ(names(kNv12a), "image/y image/uv other ");
  EXPECT_EQ(names(big_endian(kRgb48)), "image other ");
}

TEST(InputStage, RefusesAStageThatDoesNotFitTheInput) {
  const auto model = picture_model({1, 3, 4, 6});
  auto options = options_from(*model, {kI420, 12, 8});
  options.width = 7;
  EXPECT_THROW(with_input_stage(*model, "image", options), Error);
  options.width = 6;
  options.type = ElementType::kF16;
  EXPECT_THROW(with_input_stage(*model, "image", options), Error);
  options.type = ElementType::kF32;
  EXPECT_THROW(with_input_stage(*model, "nope", options), Error);
}

TEST(InputStage, NodeChecksItsPlanes) {
  auto plane = std::make_shared<op::v0::Parameter>(element::u8, PartialShape{1, 8, 12, 1});
  const Attributes attributes{
      {"format", "nv12"}, {"source_width", 12}, {"source_height", 8}, {"width", 6}, {"height", 4}};
  EXPECT_THROW(make_node("InputStage", 1, {plane->output(0)}, attributes), Error);
  EXPECT_THROW(make_node("InputStage", 1, {plane->output(0), plane->output(0)}, attributes), Error);
  auto uv = std::make_shared<op::v0::Parameter>(element::u8, PartialShape{1, 4, 6, 2});
  const auto node = make_node("InputStage", 1, {plane->output(0), uv->output(0)}, attributes);
  EXPECT_EQ(node->get_output_shape(0), (Shape{1, 3, 4, 6}));
  auto damaged = attributes;
  damaged.set("source_width", std::int64_t{-4});
  EXPECT_THROW(make_node("InputStage", 1, {plane->output(0), uv->output(0)}, damaged), Error);
  damaged = attributes;
  damaged.set("mean", std::vector<double>{1, 2});
  EXPECT_THROW(make_node("InputStage", 1, {plane->output(0), uv->output(0)}, damaged), Error);
}

TEST(InputStage, ReadsPlanesOfOneTensor) {
  for (PixelFormat format : {kNv12, kI420, kRgbPlanar}) {
    InputStageOptions options;
    options.source = {format, 8, 6, ColourSpace::kBt601, ColourRange::kLimited};
    options.width = 8;
    options.height = 6;
    InputStageOptions one = options;
    one.packed = true;
    const InputStageSpec spec = make_spec(options), packed = make_spec(one);
    Tensor whole(ElementType::kU8, packed.packed_shape());
    for (std::size_t i = 0; i < whole.element_count(); ++i)
      whole.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(37 * i + i / 7);
    std::vector<Tensor> planes;
    std::size_t offset = 0;
    for (std::size_t p = 0; p < spec.layout.plane_count; ++p) {
      planes.emplace_back(ElementType::kU8, spec.plane_shape(p), whole.data<std::uint8_t>() + offset);
      offset += planes.back().size_bytes();
    }
    EXPECT_EQ(offset, whole.size_bytes());
    const std::vector<Tensor> single{whole};
    const auto a = plane_views(spec, planes), b = plane_views(packed, single);
    for (std::size_t p = 0; p < spec.layout.plane_count; ++p) {
      EXPECT_EQ(a[p].data, b[p].data);
      EXPECT_EQ(a[p].pitch_bytes, b[p].pitch_bytes);
    }
    const std::vector<Tensor> wrong{Tensor(ElementType::kU8, Shape{1, 9, 8, 2})};
    EXPECT_THROW(plane_views(packed, wrong), Error);
  }
  InputStageOptions odd;
  odd.source = {kNv12, 7, 6, ColourSpace::kBt601, ColourRange::kLimited};
  odd.width = odd.height = 4;
  odd.packed = true;
  EXPECT_THROW(make_spec(odd), Error);
}

TEST(InputStage, RefusesAPlaceOutsideTheTargetAndRulesWithoutColours) {
  InputStageOptions options;
  options.source = {kNv12, 8, 6, ColourSpace::kBt601, ColourRange::kLimited};
  options.width = options.height = 10;
  options.placed = {5, 5, 6, 1};
  EXPECT_THROW(make_spec(options), Error);
  options.placed = {};
  options.source.format = kRgb24;
  options.colour_rule = ColourRule::kPerPixel;
  EXPECT_THROW(make_spec(options), Error);
}
}  // namespace input_stage_input_stage_test
