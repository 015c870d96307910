// SPDX-License-Identifier: Apache-2.0
// Metadata as bytes and back. One list of fields for each type serves both directions.
#include <tenon/frameworks/ipc/metadata.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/frameworks/ipc/wire.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {
namespace detail {

/// The types that go to another process. A type's number is its place from 1: new ones come last, and need a new wire::kVersion, as
/// changed fields do.
using CarriedTypes =
    std::tuple<metadata::Detection, metadata::Classification, metadata::TensorOutput, metadata::Segmentation,
               metadata::AudioEvent, metadata::Json, metadata::ReferenceTime, metadata::Source, metadata::NotLookedAt,
               metadata::Record, metadata::Zone, metadata::ZoneEvent, metadata::Placement>;

/// The fields of T, in the order in which they are written and read.
template <typename T>
struct FieldsOf;

#define TENON_IPC_FIELDS(type, ...)               \
  template <>                                     \
  struct FieldsOf<type> {                         \
    template <typename Coder, typename Value>     \
    static void each(Coder& code, Value& value) { \
      __VA_ARGS__                                 \
    }                                             \
  };

TENON_IPC_FIELDS(metadata::Box, code("x1", value.x1); code("y1", value.y1); code("x2", value.x2); code("y2", value.y2);)
TENON_IPC_FIELDS(metadata::Point, code("x", value.x); code("y", value.y);)
TENON_IPC_FIELDS(metadata::Detection, code("box", value.box); code("label", value.label);
                 code("label_id", value.label_id); code("score", value.score); code("track_id", value.track_id);)
TENON_IPC_FIELDS(metadata::Classification, code("label", value.label); code("label_id", value.label_id);
                 code("score", value.score); code("model", value.model);)
TENON_IPC_FIELDS(metadata::TensorOutput, code("name", value.name); code("model", value.model);
                 code("format", value.format); code("tensor", value.tensor);)
TENON_IPC_FIELDS(metadata::Segmentation, code("box", value.box); code("mask", value.mask);
                 code("labels", value.labels);)
TENON_IPC_FIELDS(metadata::AudioEvent, code("label", value.label); code("label_id", value.label_id);
                 code("score", value.score); code("begin_ns", value.begin_ns); code("end_ns", value.end_ns);)
TENON_IPC_FIELDS(metadata::Json, code("text", value.text);)
TENON_IPC_FIELDS(metadata::ReferenceTime, code("clock", value.clock); code("time_ns", value.time_ns);
                 code("duration_ns", value.duration_ns);)
TENON_IPC_FIELDS(metadata::Source, code("uri", value.uri); code("stream", value.stream);
                 code("sequence", value.sequence);)
TENON_IPC_FIELDS(metadata::NotLookedAt, code("model", value.model);)
TENON_IPC_FIELDS(metadata::Record, code("name", value.name); code("text", value.text);)
TENON_IPC_FIELDS(metadata::Zone::Count, code("label", value.label); code("inside", value.inside);
                 code("entered", value.entered); code("left", value.left);)
TENON_IPC_FIELDS(metadata::Zone, code("name", value.name); code("shape", value.shape); code("points", value.points);
                 code("counts", value.counts); code("is_crowded", value.is_crowded);)
TENON_IPC_FIELDS(metadata::ZoneEvent, code("zone", value.zone); code("what", value.what);
                 code("seconds", value.seconds); code("track_id", value.track_id);)
TENON_IPC_FIELDS(metadata::Affine, code("x0", value.x0); code("xx", value.xx); code("xy", value.xy);
                 code("y0", value.y0); code("yx", value.yx); code("yy", value.yy);)
TENON_IPC_FIELDS(metadata::Placement, code("map", value.map); code("width_px", value.width_px);
                 code("height_px", value.height_px);)
#undef TENON_IPC_FIELDS

constexpr std::uint8_t last_of(bool) { return 1; }
constexpr std::uint8_t last_of(metadata::Zone::Shape) {
  return static_cast<std::uint8_t>(metadata::Zone::Shape::kDirection);
}
constexpr std::uint8_t last_of(metadata::ZoneEvent::What) {
  return static_cast<std::uint8_t>(metadata::ZoneEvent::What::kMoves);
}

template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <typename T>
concept Choice = std::is_enum_v<T> || std::is_same_v<T, bool>;

/// The most that a tensor in metadata has.
inline constexpr std::size_t kMostAxes = 32;

/// "metadata entry 3 (detection)".
TENON_INLINE std::string entry_text(std::size_t index, std::string_view kind) {
  return "ipc: metadata entry " + std::to_string(index) + " (" + std::string(kind) + ")";
}

/// Appends fields.
class MetadataWriter {
 public:
  std::vector<std::byte> bytes =
      std::vector<std::byte>(sizeof(wire::Metadata));  ///< Room for what is told before the entries.
  std::string entry;                                   ///< For errors.

  std::size_t size() const { return bytes.size() - sizeof(wire::Metadata); }
  template <Number T>
  void operator()(const char*, const T& value) {
    append(&value, sizeof value);
  }
  template <Choice T>
  void operator()(const char*, const T& value) {
    const auto number = static_cast<std::uint8_t>(value);
    append(&number, sizeof number);
  }
  void operator()(const char* field, const std::string& text) {
    count(field, text.size());
    append(text.data(), text.size());
  }
  template <typename T>
  void operator()(const char* field, const std::vector<T>& values) {
    count(field, values.size());
    for (const T& value : values) (*this)(field, value);
  }
  void operator()(const char* field, const Tensor& tensor) {
    const std::string type(tensor ? name(tensor.element_type()) : std::string_view());
    if (tensor && tensor.element_type() == ElementType::kString)
      fail(Code::kUnimplemented, field, "is of strings, which other processes do not get");
    if (tensor && tensor.shape().size() > kMostAxes)
      fail(Code::kUnimplemented, field,
           "has " + std::to_string(tensor.shape().size()) + " axes, expected at most " + std::to_string(kMostAxes));
    (*this)(field, type);
    if (!tensor) return;
    count(field, tensor.shape().size());
    for (const std::size_t extent : tensor.shape()) (*this)(field, static_cast<std::uint64_t>(extent));
    const std::size_t size = tensor.size_bytes(), at = bytes.size();
    check_size(size);
    bytes.resize(at + size);
    if (size == 0) return;
    if (tensor.is_host_addressable() && tensor.is_contiguous()) {
      tensor.memory()->wait_for(Access::kRead, default_deadline());
      std::memcpy(bytes.data() + at, tensor.data(), size);
    } else {
      tensor.context()->read(tensor, std::span(bytes).subspan(at));
    }
  }
  template <typename T>
  requires requires { sizeof(FieldsOf<T>); }
  void operator()(const char*, const T& value) { FieldsOf<T>::each(*this, value); }

  void append(const void* from, std::size_t size) {
    check_size(size);
    const auto* const first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + size);
  }

  [[noreturn]] void fail(Code code, const char* field, const std::string& what) const {
    throw Error(code, entry + ": its " + field + " " + what + "; " + kRemedy);
  }

  static constexpr const char* kRemedy = "leave metadata out (PublisherOptions::metadata, ipc_sink's metadata=false)";

 private:
  void count(const char* field, std::size_t number) {
    (*this)(field, static_cast<std::uint32_t>(std::min<std::size_t>(number, UINT32_MAX)));
  }
  void check_size(std::size_t more) const {
    if (more > wire::kMaxMetadataBytes - size())
      throw Error(Code::kResourceExhausted, entry + ": with it the metadata of the frame have " +
                                                std::to_string(size() + more) + " bytes, at most " +
                                                std::to_string(wire::kMaxMetadataBytes) + " go to other processes; " +
                                                kRemedy);
  }
};

/// Reads fields, of which none is believed.
class MetadataReader {
 public:
  std::span<const std::byte> bytes;  ///< What is left of the entry.
  std::string entry;                 ///< For errors.

  template <Number T>
  void operator()(const char* field, T& value) {
    std::memcpy(&value, take(field, sizeof value).data(), sizeof value);
  }
  template <Choice T>
  void operator()(const char* field, T& value) {
    const auto number = std::to_integer<std::uint8_t>(take(field, 1)[0]);
    if (number > last_of(T{})) fail(Code::kInvalidArgument, field, "has the unknown value " + std::to_string(number));
    value = static_cast<T>(number);
  }
  void operator()(const char* field, std::string& text) {
    const std::span<const std::byte> found = take(field, count(field));
    text.assign(reinterpret_cast<const char*>(found.data()), found.size());
  }
  template <typename T>
  void operator()(const char* field, std::vector<T>& values) {
    for (std::uint32_t left = count(field); left != 0; --left) (*this)(field, values.emplace_back());
  }
  void operator()(const char* field, Tensor& tensor) {
    std::string type_name;
    (*this)(field, type_name);
    if (type_name.empty()) return;
    const auto type = element_type_from_name(type_name);
    if (!type || bit_width(*type) == 0 || *type == ElementType::kString)
      fail(Code::kInvalidArgument, field, "has the unknown type \"" + type_name.substr(0, 32) + "\"");
    const std::uint32_t rank = count(field);
    if (rank > kMostAxes)
      fail(Code::kInvalidArgument, field,
           "has " + std::to_string(rank) + " axes, expected at most " + std::to_string(kMostAxes));
    Shape shape(rank);
    for (std::size_t& extent : shape) {
      std::uint64_t told = 0;
      (*this)(field, told);
      extent = static_cast<std::size_t>(told);
    }
    // Strides are computed of empty tensors, too.
    Shape filled = shape;
    std::replace(filled.begin(), filled.end(), std::size_t{0}, std::size_t{1});
    if (!checked_size_bytes(*type, filled))
      fail(Code::kOutOfRange, field, "has the impossible shape " + to_string(shape));
    const std::span<const std::byte> found = take(field, *checked_size_bytes(*type, shape));
    tensor = Tensor(*type, shape);
    if (!found.empty()) std::memcpy(tensor.data(), found.data(), found.size());
  }
  template <typename T>
  requires requires { sizeof(FieldsOf<T>); }
  void operator()(const char*, T& value) { FieldsOf<T>::each(*this, value); }

  [[noreturn]] void fail(Code code, const char* field, const std::string& what) const {
    throw Error(code, entry + ": its " + field + " " + what);
  }

 private:
  std::span<const std::byte> take(const char* field, std::size_t size) {
    if (size > bytes.size())
      fail(Code::kDataLoss, field,
           "needs " + std::to_string(size) + " bytes, and " + std::to_string(bytes.size()) + " are left of the entry");
    const auto found = bytes.first(size);
    bytes = bytes.subspan(size);
    return found;
  }
  std::uint32_t count(const char* field) {
    std::uint32_t number = 0;
    (*this)(field, number);
    return number;
  }
};

/// What the values must be like, as their users rely on it: the sender says it first.
template <typename Coder, typename T>
void check_value(const Coder&, const T&) {}
template <typename Coder>
void check_value(const Coder& code, const metadata::Segmentation& value) {
  if (value.mask && (value.mask.element_type() != ElementType::kU8 || value.mask.shape().size() != 2))
    code.fail(Code::kInvalidArgument, "mask", "is " + to_string(value.mask) + ", expected u8 [height, width]");
}

/// An entry on its way out.
struct Outgoing {
  metadata::Id id = 0, parent = 0;
  std::uint16_t kind = 0;
  std::string_view name;
  std::shared_ptr<const void> value;
  void (*write)(MetadataWriter&, const void*) = nullptr;
};

template <std::size_t I = 0>
void gather(const metadata::Collection& known, std::vector<Outgoing>& all) {
  if constexpr (I < std::tuple_size_v<CarriedTypes>) {
    using T = std::tuple_element_t<I, CarriedTypes>;
    for (const metadata::Entry<T>& entry : known.all<T>())
      all.push_back(
          {entry.id, entry.parent, I + 1, T::kKind.name(), entry.value, [](MetadataWriter& into, const void* value) {
             check_value(into, *static_cast<const T*>(value));
             FieldsOf<T>::each(into, *static_cast<const T*>(value));
           }});
    gather<I + 1>(known, all);
  }
}

/// Adds an entry of type `kind` and gives its number in `into`.
template <std::size_t I = 0>
metadata::Id add_entry(std::uint16_t kind, std::size_t index, std::span<const std::byte> bytes, metadata::Id parent,
                       metadata::Collection& into) {
  if constexpr (I < std::tuple_size_v<CarriedTypes>) {
    if (kind != I + 1) return add_entry<I + 1>(kind, index, bytes, parent, into);
    using T = std::tuple_element_t<I, CarriedTypes>;
    MetadataReader reader{bytes, entry_text(index, T::kKind.name())};
    T value;
    FieldsOf<T>::each(reader, value);
    if (!reader.bytes.empty())
      throw Error(Code::kDataLoss,
                  reader.entry + ": " + std::to_string(reader.bytes.size()) + " bytes follow its last field");
    check_value(reader, value);
    return into.add(std::move(value), parent);
  } else {
    throw Error(Code::kUnimplemented, "ipc: metadata entry " + std::to_string(index) + ": its kind " +
                                          std::to_string(kind) + " is unknown, expected 1 to " +
                                          std::to_string(std::tuple_size_v<CarriedTypes>));
  }
}

TENON_INLINE std::shared_ptr<metadata::Collection> read_metadata(std::span<const std::byte> bytes,
                                                                 std::uint32_t entry_count) {
  if (entry_count > wire::kMaxMetadataEntries)
    throw Error(Code::kOutOfRange, "ipc: a frame's metadata say that they have " + std::to_string(entry_count) +
                                       " entries, expected at most " + std::to_string(wire::kMaxMetadataEntries));
  auto made = std::make_shared<metadata::Collection>();
  std::vector<std::pair<metadata::Id, metadata::Id>> ids;  // There and here, ascending.
  for (std::uint32_t i = 0; i < entry_count; ++i) {
    const auto fail = [&](Code code, const std::string& what) {
      throw Error(code, "ipc: metadata entry " + std::to_string(i) + " " + what);
    };
    wire::MetadataEntry told;
    if (bytes.size() < sizeof told)
      fail(Code::kDataLoss,
           "of " + std::to_string(entry_count) + " is missing: " + std::to_string(bytes.size()) + " bytes are left");
    std::memcpy(&told, bytes.data(), sizeof told);
    bytes = bytes.subspan(sizeof told);
    if (told.size_bytes > bytes.size())
      fail(Code::kDataLoss, "says that its size is " + std::to_string(told.size_bytes) + " bytes, and " +
                                std::to_string(bytes.size()) + " are left");
    if (told.id == metadata::kFrame || (!ids.empty() && told.id <= ids.back().first))
      fail(Code::kInvalidArgument, "has the id " + std::to_string(told.id) + ", expected ids that increase from 1");
    metadata::Id parent = metadata::kFrame;
    if (told.parent != metadata::kFrame) {
      const auto found = std::lower_bound(ids.begin(), ids.end(), std::pair(told.parent, metadata::Id{0}));
      if (found == ids.end() || found->first != told.parent)
        fail(Code::kInvalidArgument,
             "belongs to the parent " + std::to_string(told.parent) + ", which did not come before it");
      parent = found->second;
    }
    ids.emplace_back(told.id, add_entry(told.kind, i, bytes.first(told.size_bytes), parent, *made));
    bytes = bytes.subspan(told.size_bytes);
  }
  if (!bytes.empty())
    throw Error(Code::kDataLoss,
                "ipc: " + std::to_string(bytes.size()) + " bytes follow the last entry of a frame's metadata");
  return made;
}

/// A sealed memfd with `bytes`. @errors kResourceExhausted with the native call.
TENON_INLINE cpu::UniqueFd memfd_of(std::span<const std::byte> bytes) {
  const auto fail = [](const char* call) {
    throw Error(Code::kResourceExhausted, "ipc: there is no memory for the metadata of a frame", call, errno);
  };
  cpu::UniqueFd made(::memfd_create("tenon-metadata", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made) fail("memfd_create");
  while (!bytes.empty()) {
    const ssize_t written = ::write(made.get(), bytes.data(), bytes.size());
    if (written > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      fail("write");
  }
  if (::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    fail("fcntl(F_ADD_SEALS)");
  return made;
}

TENON_INLINE std::vector<std::byte> bytes_of_memfd(int fd, std::uint64_t size_bytes) {
  // Seals are those of memory alone: a call about another file may wait for the other end.
  struct stat status {};
  if (::fcntl(fd, F_GET_SEALS) < 0 || ::fstat(fd, &status) != 0)
    throw Error(Code::kInvalidArgument, "ipc: a frame's metadata came in what is no memfd");
  if (static_cast<std::uint64_t>(status.st_size) != size_bytes)
    throw Error(Code::kDataLoss, "ipc: a frame's metadata came in a memfd of " + std::to_string(status.st_size) +
                                     " bytes, the message says " + std::to_string(size_bytes));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size_bytes));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw Error(Code::kDataLoss, "ipc: a frame's metadata end early in their memfd", "pread", got < 0 ? errno : 0);
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace detail

TENON_INLINE FrameMetadata::FrameMetadata(const Frame& frame) {
  const std::shared_ptr<const metadata::Collection> known = metadata::find(frame);
  if (!known || known->empty()) return;
  std::vector<detail::Outgoing> all;
  detail::gather(*known, all);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  detail::MetadataWriter writer;
  std::vector<metadata::Id> sent;
  for (const detail::Outgoing& one : all) {
    if (one.parent != metadata::kFrame && !std::binary_search(sent.begin(), sent.end(), one.parent)) continue;
    writer.entry = detail::entry_text(sent.size(), one.name);
    if (sent.size() == wire::kMaxMetadataEntries)
      throw Error(Code::kResourceExhausted, writer.entry + ": at most " + std::to_string(wire::kMaxMetadataEntries) +
                                                " entries of a frame go to other processes; " +
                                                detail::MetadataWriter::kRemedy);
    wire::MetadataEntry told{one.id, one.parent, 0, one.kind, 0};
    const std::size_t at = writer.bytes.size();
    writer.append(&told, sizeof told);
    one.write(writer, one.value.get());
    told.size_bytes = static_cast<std::uint32_t>(writer.bytes.size() - at - sizeof told);
    std::memcpy(writer.bytes.data() + at, &told, sizeof told);
    sent.push_back(one.id);
  }
  count_ = static_cast<std::uint32_t>(sent.size());
  size_ = writer.size();
  bytes_ = std::move(writer.bytes);
  const wire::Metadata told{count_, size_ > wire::kMaxInlineMetadata, size_};
  std::memcpy(bytes_.data(), &told, sizeof told);
  if (!told.is_apart) return;
  fd_ = detail::memfd_of(std::span(bytes_).subspan(sizeof told));
  bytes_.resize(sizeof told);
}

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
