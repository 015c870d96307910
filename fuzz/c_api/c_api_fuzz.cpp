// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program of C calls, with arguments that no correct caller passes: each call returns a status, and
// out-parameters are set or null as the header says.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/bindings/c/tenon.h>
#include <tenon/fuzz/bytes.hpp>

namespace {

/// Arguments of calls.
class Bytes : public tenon::fuzz::Bytes {
 public:
  using tenon::fuzz::Bytes::Bytes;
  /// Mostly small, sometimes anything.
  std::size_t extent() {
    const std::uint8_t kind = byte();
    return kind < 224 ? kind % 17 : next<std::size_t>();
  }
  std::string text() {
    std::string text(byte() % 24, ' ');
    for (char& c : text) c = static_cast<char>(byte());
    return text;
  }
  std::vector<std::uint8_t> rest() {
    std::vector<std::uint8_t> all(left_.begin(), left_.end());
    left_ = {};
    return all;
  }
};

void check(bool holds) {
  if (!holds) std::abort();
}

/// Handles of one kind, among them null.
template <typename T, void (*Free)(T*)>
class Slots {
 public:
  ~Slots() {
    for (T* handle : handles_) Free(handle);
  }
  T* at(std::uint8_t index) const { return handles_[index % handles_.size()]; }
  void put(std::uint8_t index, tenon_status_t status, T* handle) {
    check((status == TENON_OK) == (handle != nullptr));
    T*& slot = handles_[index % handles_.size()];
    Free(slot);
    slot = handle;
  }

 private:
  std::array<T*, 4> handles_{};
};

constexpr const char* kModel = R"(<net name="relu" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2,3" element_type="f32"/><output><port id="0" precision="FP32" names="x"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="1" name="y" type="ReLU" version="opset1"><input><port id="0"><dim>2</dim><dim>3</dim></port></input><output><port id="1" precision="FP32" names="y"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="2" name="r" type="Result" version="opset1"><input><port id="0"><dim>2</dim><dim>3</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>)";

tenon_core_t* core() {
  static tenon_core_t* const made = [] {
    tenon_core_t* created = nullptr;
    check(tenon_core_create(&created) == TENON_OK);
    return created;
  }();
  return made;
}

tenon_compiled_model_t* compiled() {
  static tenon_compiled_model_t* const made = [] {
    tenon_model_t* model = nullptr;
    check(tenon_core_read_model_from_memory(core(), kModel, std::strlen(kModel), nullptr, &model) == TENON_OK);
    tenon_compiled_model_t* result = nullptr;
    check(tenon_core_compile_model(core(), model, "CPU", nullptr, &result) == TENON_OK);
    tenon_model_free(model);
    return result;
  }();
  return made;
}

struct Program {
  explicit Program(Bytes input) : bytes(input) {}

  Bytes bytes;
  std::vector<std::uint8_t> memory =
      std::vector<std::uint8_t>(1 << 16);  ///< The memory that wrapped tensors and frames refer to.
  Slots<tenon_tensor_t, tenon_tensor_free> tensors;
  Slots<tenon_frame_t, tenon_frame_free> frames;
  Slots<tenon_model_t, tenon_model_free> models;
  Slots<tenon_infer_request_t, tenon_infer_request_free> requests;
  Slots<tenon_properties_t, tenon_properties_free> maps;
  Slots<tenon_value_t, tenon_value_free> values;
  Slots<tenon_partial_shape_t, tenon_partial_shape_free> shapes;

  std::vector<std::size_t> extents(std::size_t count) {
    std::vector<std::size_t> values(count);
    for (std::size_t& value : values) value = bytes.extent();
    return values;
  }
  std::size_t rank() { return bytes.byte() % (TENON_MAX_RANK + 2); }

  void create_tensor() {
    const std::size_t r = rank();
    std::vector<std::size_t> shape = extents(r);
    // Valid sizes stay small, so that the fuzzer does not just find its own memory limit.
    for (std::size_t& extent : shape) extent = extent < 1 << 20 ? extent % 17 : extent;
    tenon_tensor_t* out = nullptr;
    const auto status = tenon_tensor_create(bytes.byte() % 20, r, r == 0 ? nullptr : shape.data(), &out);
    tensors.put(bytes.byte(), status, out);
  }
  /// Extents below 17 and non-negative strides below 2^8 stay inside `memory` up to rank 6; anything else may only be
  /// refused, and is never read.
  void wrap_tensor() {
    const std::size_t r = rank();
    const std::vector<std::size_t> shape = extents(r);
    std::vector<std::ptrdiff_t> strides(r);
    for (std::ptrdiff_t& stride : strides) stride = bytes.byte() < 250 ? bytes.byte() : bytes.next<std::ptrdiff_t>();
    int released = 0;
    tenon_tensor_t* out = nullptr;
    const auto status = tenon_tensor_wrap(
        bytes.byte() % 20, r, shape.data(), bytes.byte() % 2 ? strides.data() : nullptr,
        bytes.byte() % 8 ? memory.data() : nullptr, [](void* count) { ++*static_cast<int*>(count); }, &released, &out);
    check((status == TENON_OK) == (out != nullptr) && released == (status == TENON_OK ? 0 : 1));
    tenon_tensor_free(out);
    check(released == 1);
  }
  void slice() {
    const tenon_tensor_t* whole = tensors.at(bytes.byte());
    std::vector<std::size_t> begin = extents(TENON_MAX_RANK + 2), end = extents(TENON_MAX_RANK + 2);
    tenon_tensor_t* out = nullptr;
    const auto status = tenon_tensor_slice(whole, begin.data(), end.data(), &out);
    tensors.put(bytes.byte(), status, out);
  }
  void inspect() {
    const tenon_tensor_t* tensor = tensors.at(bytes.byte());
    std::size_t shape[64];
    std::ptrdiff_t strides[64];
    void* data = nullptr;
    if (tenon_tensor_rank(tensor) > 64) return;
    tenon_tensor_shape(tensor, shape);
    if (tenon_tensor_data(tensor, &data) != TENON_OK || tenon_tensor_size_bytes(tensor) == 0) return;
    check(data != nullptr);
    std::memset(data, bytes.byte(), 1);
    if (tenon_tensor_byte_strides(tensor, strides) != TENON_OK) return;
    std::ptrdiff_t last = 0;
    for (std::size_t i = 0; i < tenon_tensor_rank(tensor); ++i)
      last += static_cast<std::ptrdiff_t>(shape[i] - 1) * strides[i];
    std::memset(static_cast<std::uint8_t*>(data) + last, bytes.byte(), 1);
  }
  /// struct_size may exceed the size of our struct; the caller's struct must then be that long, and this one is.
  struct LongFrameInfo {
    tenon_frame_info_t info{};
    std::array<std::uint8_t, 4096> more{};
  };
  LongFrameInfo frame_info() {
    constexpr std::uint32_t known[] = {TENON_FORMAT_NV12, TENON_FORMAT_I420, TENON_FORMAT_RGB24, TENON_FORMAT_P010,
                                       TENON_FORMAT_GRAY8};
    LongFrameInfo all;
    tenon_frame_info_t& info = all.info;
    info.struct_size = bytes.byte() < 240 ? sizeof info : bytes.extent();
    const std::uint8_t which = bytes.byte();
    info.fourcc = which < 240 ? known[which % std::size(known)] : bytes.next<std::uint32_t>();
    info.modifier = bytes.byte() < 250 ? 0 : bytes.next<std::uint64_t>();
    info.width_px = static_cast<std::uint32_t>(bytes.extent());
    info.height_px = static_cast<std::uint32_t>(bytes.extent());
    info.colour_space = bytes.byte() % 6 - 1;
    info.colour_range = bytes.byte() % 5 - 1;
    return all;
  }
  void frame() {
    const LongFrameInfo all = frame_info();
    const tenon_frame_info_t& info = all.info;
    if (info.width_px > 4096 || info.height_px > 4096) return;
    std::array<tenon_plane_t, 5> planes{};
    for (tenon_plane_t& plane : planes) plane = {bytes.byte() % 8 ? memory.data() : nullptr, bytes.extent()};
    tenon_frame_t* out = nullptr;
    tenon_status_t status =
        tenon_frame_wrap(&info, planes.data(), bytes.byte() % planes.size(), nullptr, nullptr, &out);
    check((status == TENON_OK) == (out != nullptr));
    tenon_frame_free(out);  // Its planes may reach past the end of `memory`, so they must not be read.
    out = nullptr;
    status = tenon_frame_create(&info, &out);
    const std::uint8_t slot = bytes.byte();
    frames.put(slot, status, out);
    tenon_tensor_t* plane = nullptr;
    status = tenon_frame_plane(frames.at(slot), bytes.byte() % 6, &plane);
    tensors.put(bytes.byte(), status, plane);
  }
  void properties() {
    const std::string key = bytes.text(), value = bytes.text(), device = bytes.byte() % 2 ? "CPU" : bytes.text();
    char* text = nullptr;
    const auto status = tenon_core_get_property(core(), device.c_str(), key.c_str(), &text);
    check((status == TENON_OK) == (text != nullptr));
    tenon_string_free(text);
    const tenon_property_t property{key.c_str(), value.c_str()};
    tenon_core_set_properties(core(), "CPU", &property, 1);
  }
  void request() {
    const std::uint8_t slot = bytes.byte();
    if (!requests.at(slot)) {
      tenon_infer_request_t* out = nullptr;
      const auto status = tenon_compiled_model_create_infer_request(compiled(), &out);
      requests.put(slot, status, out);
    }
    tenon_infer_request_t* r = requests.at(slot);
    const std::string name = bytes.text();
    switch (bytes.byte() % 8) {
      case 0:
        tenon_infer_request_set_tensor(r, bytes.byte() % 2 ? "x" : name.c_str(), tensors.at(bytes.byte()));
        break;
      case 1:
        tenon_infer_request_set_input_tensor(r, bytes.extent(), tensors.at(bytes.byte()));
        break;
      case 2:
        tenon_infer_request_set_output_tensor(r, bytes.extent(), tensors.at(bytes.byte()));
        break;
      case 3:
        tenon_infer_request_infer(r);
        break;
      case 4:
        tenon_infer_request_start_async(r);
        break;
      case 5:
        tenon_infer_request_wait_for(r, bytes.byte());
        break;
      case 6:
        tenon_infer_request_cancel(r);
        break;
      case 7: {
        tenon_tensor_t* out = nullptr;
        const auto status = tenon_infer_request_get_output_tensor(r, bytes.byte() % 3, &out);
        tenon_infer_request_wait(r);
        tensors.put(bytes.byte(), status, out);
      }
    }
  }
  void typed_properties() {
    const std::uint8_t slot = bytes.byte();
    if (!maps.at(slot)) {
      tenon_properties_t* out = nullptr;
      const auto status = tenon_properties_create(&out);
      maps.put(slot, status, out);
    }
    tenon_properties_t* map = maps.at(slot);
    const std::string key = bytes.text(), text = bytes.text();
    switch (bytes.byte() % 6) {
      case 0:
        tenon_properties_set_text(map, key.c_str(), text.c_str());
        break;
      case 1:
        tenon_properties_set_int64(map, key.c_str(), bytes.next<std::int64_t>());
        break;
      case 2:
        tenon_properties_set_double(map, key.c_str(), bytes.next<double>());
        break;
      case 3:
        tenon_properties_set_map(map, key.c_str(), maps.at(bytes.byte()));
        break;
      case 4:
        tenon_properties_set_tensor(map, key.c_str(), tensors.at(bytes.byte()));
        break;
      case 5:
        tenon_core_set_values(core(), bytes.byte() % 2 ? "CPU" : nullptr, map);
    }
    tenon_value_t* value = nullptr;
    auto status = tenon_properties_get(map, tenon_properties_key(map, bytes.byte() % 4), &value);
    values.put(bytes.byte(), status, value);
    read_value(values.at(bytes.byte()));
  }
  void read_value(const tenon_value_t* value) {
    bool truth = false;
    std::int64_t number = 0;
    double real = 0;
    char* text = nullptr;
    tenon_strings_t* strings = nullptr;
    tenon_properties_t* map = nullptr;
    tenon_tensor_t* tensor = nullptr;
    tenon_value_as_bool(value, &truth);
    tenon_value_as_int64(value, &number);
    tenon_value_as_double(value, &real);
    auto status = tenon_value_as_text(value, &text);
    check((status == TENON_OK) == (value != nullptr));
    tenon_string_free(text);
    status = tenon_value_as_strings(value, &strings);
    check((status == TENON_OK) == (strings != nullptr));
    tenon_strings_free(strings);
    status = tenon_value_as_map(value, &map);
    maps.put(bytes.byte(), status, map);
    status = tenon_value_as_tensor(value, &tensor);
    tensors.put(bytes.byte(), status, tensor);
  }
  void partial_shape() {
    tenon_partial_shape_t* out = nullptr;
    tenon_status_t status = TENON_OK;
    if (bytes.byte() % 2) {
      const std::string text = "[" + bytes.text() + "]";
      status = tenon_partial_shape_parse(text.c_str(), &out);
    } else {
      std::array<tenon_dimension_t, 10> bounds{};
      for (tenon_dimension_t& bound : bounds) bound = {bytes.next<std::int16_t>(), bytes.next<std::int16_t>()};
      status = tenon_partial_shape_create(bytes.byte() % (bounds.size() + 1), bounds.data(), &out);
    }
    const std::uint8_t slot = bytes.byte();
    shapes.put(slot, status, out);
    const tenon_partial_shape_t* shape = shapes.at(slot);
    std::size_t known[64];
    if (tenon_partial_shape_rank(shape) <= 64) tenon_partial_shape_to_shape(shape, known);
    char* text = nullptr;
    tenon_partial_shape_to_text(shape, &text);
    tenon_string_free(text);
    tenon_model_reshape(models.at(0), shape);
  }
  void change_tensor() {
    tenon_tensor_t* tensor = tensors.at(bytes.byte());
    std::vector<std::size_t> shape = extents(TENON_MAX_RANK);
    for (std::size_t& extent : shape) extent = extent < 1 << 20 ? extent % 17 : extent;  // See create_tensor().
    const std::size_t rank = bytes.byte() % 6;
    tenon_tensor_t* out = nullptr;
    tenon_status_t status = TENON_OK;
    switch (bytes.byte() % 3) {
      case 0:
        status = tenon_tensor_reshaped(tensor, rank, shape.data(), &out);
        tensors.put(bytes.byte(), status, out);
        break;
      case 1:
        tenon_tensor_set_shape(tensor, rank, shape.data());
        break;
      case 2:
        tenon_tensor_copy_to(tensor, tensors.at(bytes.byte()));
    }
  }
  void preprocess() {
    tenon_model_t* model = nullptr;
    check(tenon_core_read_model_from_memory(core(), kModel, std::strlen(kModel), nullptr, &model) == TENON_OK);
    tenon_preprocessor_t* steps = nullptr;
    tenon_preprocess_input_t* input = nullptr;
    check(tenon_preprocessor_create(model, &steps) == TENON_OK);
    check(tenon_preprocessor_input(steps, nullptr, &input) == TENON_OK);
    tenon_model_free(model);
    const float values[] = {bytes.next<float>(), bytes.next<float>(), bytes.next<float>()};
    for (int calls = 0; calls < 8; ++calls) preprocess_step(input, values);
    tenon_model_t* whole = nullptr;
    const auto status = tenon_preprocessor_build(steps, &whole);
    models.put(1, status, whole);
    tenon_preprocess_input_free(input);
    tenon_preprocessor_free(steps);
  }
  void preprocess_step(tenon_preprocess_input_t* input, const float* values) {
    const std::string text = bytes.text();
    const std::int32_t begin[] = {bytes.next<std::int8_t>(), bytes.next<std::int8_t>()}, end[] = {2, 3};
    switch (bytes.byte() % 10) {
      case 0:
        tenon_preprocess_input_set_element_type(input, bytes.byte() % 18);
        break;
      case 1:
        tenon_preprocess_input_set_layout(input, text.c_str());
        break;
      case 2:
        tenon_preprocess_input_set_model_layout(input, bytes.byte() % 2 ? "NC" : text.c_str());
        break;
      case 3:
        tenon_preprocess_input_set_colour_format(input, bytes.byte() % 11, nullptr, 0);
        break;
      case 4:
        tenon_preprocess_input_set_shape(input, shapes.at(bytes.byte()));
        break;
      case 5:
        tenon_preprocess_input_mean(input, values, bytes.byte() % 4);
        break;
      case 6:
        tenon_preprocess_input_crop(input, begin, end, bytes.byte() % 3);
        break;
      case 7:
        tenon_preprocess_input_convert_element_type(input, bytes.byte() % 18);
        break;
      case 8:
        tenon_preprocess_input_convert_colour(input, bytes.byte() % 11);
        break;
      case 9:
        tenon_preprocess_input_clamp(input, values[0], values[1]);
    }
  }
  void read_model() {
    const std::vector<std::uint8_t> all = bytes.rest();
    tenon_model_t* out = nullptr;
    const auto status = tenon_core_read_model_from_memory(core(), all.data(), all.size(), nullptr, &out);
    models.put(0, status, out);
    tenon_port_info_t info{};
    info.struct_size = sizeof info;
    for (std::size_t i = 0; i <= tenon_model_input_count(models.at(0)); ++i)
      tenon_model_input_info(models.at(0), i, &info);
  }

  void run() {
    for (int calls = 0; calls < 64 && !bytes.is_empty(); ++calls) {
      switch (bytes.byte() % 12) {
        case 0:
          create_tensor();
          break;
        case 1:
          wrap_tensor();
          break;
        case 2:
          slice();
          break;
        case 3:
          inspect();
          break;
        case 4:
          frame();
          break;
        case 5:
          properties();
          break;
        case 6:
          request();
          break;
        case 7:
          read_model();
          break;
        case 8:
          typed_properties();
          break;
        case 9:
          partial_shape();
          break;
        case 10:
          change_tensor();
          break;
        case 11:
          preprocess();
          break;
      }
      check(tenon_last_error_message() != nullptr);
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Program(Bytes(data, size)).run();
  return 0;
}
