// SPDX-License-Identifier: Apache-2.0
// Any bytes as buffers that a client of the software VA-API driver submits for pictures: parameter sets, matrices,
// slices of each codec, several pictures to one writer. The result is a piece of stream or a status. There is no
// decoder: only the driver's own code is tested.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <va/va.h>

#include <tenon/drivers/vaapi/codec/bits.hpp>
#include <tenon/drivers/vaapi/codec/picture.hpp>

namespace {

using namespace tenon::va;  // NOLINT: it is all about these.

std::unique_ptr<StreamWriter> (*const kWriters[])() = {make_h264_writer, make_hevc_writer, make_vp9_writer,
                                                       make_jpeg_writer, make_av1_writer};
constexpr std::size_t kMatrixBytes[] = {sizeof(VAIQMatrixBufferH264), sizeof(VAIQMatrixBufferHEVC), 1,
                                        sizeof(VAIQMatrixBufferJPEGBaseline), 1};
/// Flags in a picture's first byte: the buffers that follow its parameters.
constexpr std::uint8_t kHasMatrix = 1, kHasHuffman = 2, kIsShort = 4, kTellsSizes = 8;
constexpr int kSlicesShift = 4;

/// Splits an input into values; zeros follow its end.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : left_(bytes) {}
  bool is_empty() const { return left_.empty(); }
  Bytes take(std::size_t count) {
    const auto had = left_.first(std::min(count, left_.size()));
    Bytes taken(had.begin(), had.end());
    left_ = left_.subspan(had.size());
    taken.resize(count);
    return taken;
  }
  std::uint8_t byte() { return take(1)[0]; }

 private:
  std::span<const std::uint8_t> left_;
};

/// Buffers that vaRenderPicture accepts: structures have at least their full size, and there is a slice.
struct Submission {
  Picture picture;
  std::vector<Bytes> data;
};

Submission read_picture(Input& input, const StreamWriter& writer, std::size_t matrix_bytes) {
  Submission made;
  const std::uint8_t flags = input.byte();
  made.picture.parameters = input.take(writer.picture_bytes());
  const std::size_t divisor = flags & kIsShort ? 2 : 1;
  if (flags & kHasMatrix) made.picture.iq_matrix = input.take(matrix_bytes / divisor);
  if (flags & kHasHuffman) made.picture.huffman = input.take(sizeof(VAHuffmanTableBufferJPEGBaseline) / divisor);
  for (int slice = 0; slice <= flags >> kSlicesShift; ++slice) {
    Bytes parameters = input.take(writer.slice_bytes());
    const std::size_t size = input.byte();
    made.data.push_back(input.take(size));
    if (flags & kTellsSizes) {  // The structures of all codecs have the same beginning.
      const VASliceParameterBufferBase base{static_cast<std::uint32_t>(size), 0, VA_SLICE_DATA_FLAG_ALL};
      std::memcpy(parameters.data(), &base, sizeof base);
    }
    made.picture.slices.push_back({std::move(parameters), {}});
  }
  for (std::size_t i = 0; i < made.data.size(); ++i) made.picture.slices[i].data = made.data[i];
  return made;
}

void expect(bool holds) {
  if (!holds) std::abort();
}

/// The size of the stream is proportional to the size of the input.
void try_pictures(Input input, std::size_t codec) {
  constexpr std::size_t kOfHeaders = 64 * 1024;
  const auto writer = kWriters[codec]();
  Bytes stream;
  std::size_t given = 0;
  while (!input.is_empty()) {
    const Submission one = read_picture(input, *writer, kMatrixBytes[codec]);
    if (writer->holds()) writer->release(&one.picture, stream);
    (void)writer->write(one.picture, stream);
    for (const Bytes& data : one.data) given += data.size();
    if (writer->holds() && !one.data[0].empty() && one.data[0][0] % 2) writer->release(nullptr, stream);
    expect(stream.size() <= 4 * given + kOfHeaders);
    stream.clear();
  }
  if (writer->holds()) writer->release(nullptr, stream);
}

/// The reader reads the writer's output; escaped data contains no start code and is restored by unescaping.
void try_bits(std::span<const std::uint8_t> bytes) {
  Bytes escaped;
  append_escaped(escaped, bytes);
  expect(unescape(escaped, std::numeric_limits<std::size_t>::max()) == Bytes(bytes.begin(), bytes.end()));
  for (std::size_t i = 2; i < escaped.size(); ++i) expect(escaped[i - 2] || escaped[i - 1] || escaped[i] >= 3);
  (void)unescape(bytes, bytes.size());
  BitReader any(bytes);
  BitWriter writer;
  std::vector<std::uint32_t> numbers;
  while (!any.is_past_end()) {
    const std::uint32_t number = any.ue();
    if (number == 0xffffffff)
      continue;  // One more than the longest code; the reader returns it for codes that are too long.
    numbers.push_back(number);
    writer.ue(number);
    writer.se(any.se() / 2);
    writer.bits(7, number);
  }
  writer.stop();
  BitReader reader(writer.bytes());
  for (const std::uint32_t number : numbers) {
    expect(reader.ue() == number);
    reader.se();
    expect(reader.bits(7) == (number & 127));
  }
  expect(reader.bit() && !reader.is_past_end());
}

/// Builds an input, the inverse of Input.
class Seed {
 public:
  explicit Seed(std::uint8_t codec) : bytes_{codec} {}
  void picture(std::uint8_t flags) { bytes_.push_back(flags); }
  template <class T>
  void structure(const T& value) {
    const auto* raw = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
  }
  void data(const Bytes& data) {
    bytes_.push_back(static_cast<std::uint8_t>(data.size()));
    bytes_.insert(bytes_.end(), data.begin(), data.end());
  }
  void save(const std::string& file) const {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
  }

 private:
  Bytes bytes_;
};

const Bytes kSlice{0x65, 0x88, 0x84, 0x21, 0xa0, 0x5f, 0xff, 0x80, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};

Seed h264() {
  VAPictureParameterBufferH264 picture{};
  picture.picture_width_in_mbs_minus1 = picture.picture_height_in_mbs_minus1 = 3;
  picture.num_ref_frames = 4;
  picture.seq_fields.bits.chroma_format_idc = picture.seq_fields.bits.frame_mbs_only_flag = 1;
  picture.pic_fields.bits.transform_8x8_mode_flag = 1;
  VAIQMatrixBufferH264 matrix;
  std::memset(&matrix, 17, sizeof matrix);
  Seed seed(0);
  for (const std::uint8_t flags : Bytes{kTellsSizes | 1 << kSlicesShift, kTellsSizes | kHasMatrix}) {
    seed.picture(flags);
    seed.structure(picture);
    if (flags & kHasMatrix) seed.structure(matrix);
    for (int slice = 0; slice <= flags >> kSlicesShift; ++slice) {
      seed.structure(VASliceParameterBufferH264{});
      seed.data(kSlice);
    }
  }
  return seed;
}

Seed hevc() {
  VAPictureParameterBufferHEVC picture{};
  picture.pic_width_in_luma_samples = picture.pic_height_in_luma_samples = 64;
  picture.pic_fields.bits.chroma_format_idc = 1;
  picture.log2_diff_max_min_luma_coding_block_size = 2;
  picture.sps_max_dec_pic_buffering_minus1 = 4;
  for (VAPictureHEVC& reference : picture.ReferenceFrames) reference.picture_id = VA_INVALID_SURFACE;
  // As far from the current picture as 32-bit numbers can be, and next to it.
  picture.ReferenceFrames[0] = {1, std::numeric_limits<std::int32_t>::min(), VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE, {}};
  picture.ReferenceFrames[1] = {2, 1, VA_PICTURE_HEVC_RPS_ST_CURR_AFTER, {}};
  VAIQMatrixBufferHEVC matrix;
  std::memset(&matrix, 16, sizeof matrix);
  VASliceParameterBufferHEVC slice{};
  slice.slice_data_byte_offset = 6;
  Seed seed(1);
  for (const std::uint8_t nal : Bytes{0x26, 0x02, 0x12}) {  // IDR, trailing, random access.
    seed.picture(kHasMatrix);
    seed.structure(picture);
    seed.structure(matrix);
    slice.slice_data_size = static_cast<std::uint32_t>(kSlice.size());
    seed.structure(slice);
    Bytes data = kSlice;
    data[0] = nal;
    data[1] = 1;
    seed.data(data);
  }
  return seed;
}

Seed vp9() {
  Seed seed(2);
  seed.picture(kTellsSizes);
  seed.structure(VADecPictureParameterBufferVP9{});
  seed.structure(VASliceParameterBufferVP9{});
  seed.data(kSlice);
  return seed;
}

Seed jpeg() {
  VAPictureParameterBufferJPEGBaseline picture{};
  picture.picture_width = picture.picture_height = 16;
  picture.num_components = 3;
  VASliceParameterBufferJPEGBaseline scan{};
  scan.num_components = 3;
  for (std::size_t i = 0; i < 3; ++i) {
    picture.components[i] = {static_cast<std::uint8_t>(i + 1), 1, 1, 0};
    scan.components[i].component_selector = static_cast<std::uint8_t>(i + 1);
  }
  VAIQMatrixBufferJPEGBaseline quantisers{};
  quantisers.load_quantiser_table[0] = 1;
  VAHuffmanTableBufferJPEGBaseline huffman{};
  huffman.load_huffman_table[0] = 1;
  huffman.huffman_table[0].num_dc_codes[1] = huffman.huffman_table[0].num_ac_codes[1] = 2;
  Seed seed(3);
  seed.picture(kTellsSizes | kHasMatrix | kHasHuffman);
  seed.structure(picture);
  seed.structure(quantisers);
  seed.structure(huffman);
  seed.structure(scan);
  seed.data(kSlice);
  return seed;
}

/// A key frame, and frames that refer to earlier ones, until all slots are full.
Seed av1() {
  VADecPictureParameterBufferAV1 picture{};
  picture.frame_width_minus1 = picture.frame_height_minus1 = 63;
  picture.tile_cols = picture.tile_rows = 1;
  picture.seq_info_fields.fields.subsampling_x = picture.seq_info_fields.fields.subsampling_y = 1;
  picture.seq_info_fields.fields.enable_order_hint = 1;
  picture.order_hint_bits_minus_1 = 6;
  picture.pic_info_fields.bits.show_frame = 1;
  for (VASurfaceID& surface : picture.ref_frame_map) surface = VA_INVALID_SURFACE;
  Seed seed(4);
  for (std::uint8_t number = 0; number < 12; ++number) {
    picture.pic_info_fields.bits.frame_type = number ? 1 : 0;
    picture.current_frame = picture.current_display_picture = number + 1u;
    picture.order_hint = number;
    seed.picture(kTellsSizes);
    seed.structure(picture);
    seed.structure(VASliceParameterBufferAV1{});
    seed.data(kSlice);
    if (number == 0)
      for (VASurfaceID& surface : picture.ref_frame_map) surface = 1;
    else
      picture.ref_frame_map[number % 8] = number + 1u;
  }
  return seed;
}

}  // namespace

/// With TENON_FUZZ_SEEDS=FOLDER it writes seeds to that folder and exits: structures of this build's headers.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("TENON_FUZZ_SEEDS")) {
    std::filesystem::create_directories(folder);
    const std::string to = std::string(folder) + "/";
    h264().save(to + "h264");
    hevc().save(to + "hevc");
    vp9().save(to + "vp9");
    jpeg().save(to + "jpeg");
    av1().save(to + "av1");
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input(data, size);
  if (input.empty()) return 0;
  try_bits(input.subspan(1));
  try_pictures(Input(input.subspan(1)), input[0] % std::size(kWriters));
  return 0;
}
