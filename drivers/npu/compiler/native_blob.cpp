// SPDX-License-Identifier: Apache-2.0
// The blob: a checked header, the arguments, the CPU engine's blob of the prepared model, and the engine's blob of the
// initial values of states.
#include <tenon/drivers/npu/compiler/native_blob.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <string_view>

#include <tenon/core/adopt_bytes.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/host.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/sealed_header.hpp>
#include <tenon/store/table.hpp>

namespace tenon::npu::compiler {
namespace {

constexpr std::string_view kMagic = "TENONNPU";
constexpr std::uint32_t kCompiler = kCompilerMajor | std::uint32_t{kCompilerMinor} << 16;
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kMaxArguments = 1 << 16, kMaxRank = 64;

enum Flag : std::uint32_t { kTurbo = 1, kProfiling = 2, kFuse = 4, kBlocked = 8, kReference = 16 };

/// The header's `minor` is the compiler's version.
struct Fields {
  std::uint32_t platform;
  std::int32_t max_tiles, tiles, dma_engines, optimization_level;
  std::uint32_t flags;
  std::uint64_t precision;
  std::uint64_t initialisers_size;  ///< Their position is behind the payload. 0: none.
  store::Section arguments, payload;
};
using BlobHeader = store::Sealed<Fields>;
static_assert(sizeof(BlobHeader) == 128);

std::size_t aligned(std::size_t size) { return store::aligned(size, kAlignment); }

[[noreturn]] void damaged_binary(const std::string& what) {
  throw Error(Code::kDataLoss, "NPU: the native binary is damaged or truncated: " + what);
}

[[noreturn]] void out_of_memory(const char* call) {
  throw Error(Code::kResourceExhausted, "NPU: no memory for a native binary", call, errno);
}

/// A stream into a file descriptor.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(int fd) : fd_(fd), room_(std::size_t{1} << 20) {
    setp(room_.data(), room_.data() + room_.size());
  }
  std::uint64_t written() const { return written_ + static_cast<std::uint64_t>(pptr() - pbase()); }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    if (size < epptr() - pptr()) return std::streambuf::xsputn(data, size);
    if (sync() != 0 || !put(data, static_cast<std::size_t>(size))) return 0;
    return size;
  }
  int sync() override {
    const bool good = put(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    setp(room_.data(), room_.data() + room_.size());
    return good ? 0 : -1;
  }

 private:
  bool put(const char* data, std::size_t size) {
    while (size > 0) {
      const ::ssize_t count = ::write(fd_, data, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      data += count;
      size -= static_cast<std::size_t>(count);
      written_ += static_cast<std::uint64_t>(count);
    }
    return true;
  }
  int fd_;
  std::vector<char> room_;
  std::uint64_t written_ = 0;
};

[[noreturn]] void foreign() {
  throw Error(Code::kInvalidArgument,
              "NPU: these bytes are no native binary of this driver (no TENONNPU at their start)");
}

store::Format blob_format() {
  store::Format format{.magic = kMagic, .version = kBlobFormat, .minor = kCompiler, .damaged = &damaged_binary};
  format.foreign = &foreign;
  format.other_version = [](const store::SealStart& found) {
    throw Error(Code::kFailedPrecondition,
                "NPU: the native binary has version " + std::to_string(found.minor & 0xffff) + "." +
                    std::to_string(found.minor >> 16) + " in format " + std::to_string(found.version) +
                    ", this driver reads " + std::to_string(kCompilerMajor) + "." + std::to_string(kCompilerMinor) +
                    " in format " + std::to_string(kBlobFormat) + "; compile the model anew");
  };
  return format;
}

std::string write_tables(const std::vector<Argument>& arguments, const Timing& timing) {
  store::TableWriter writer;
  writer.number(arguments.size());
  for (const Argument& argument : arguments) {
    writer.text(argument.name);
    writer.text(argument.friendly_name);
    writer.number(argument.tensor_names.size());
    for (const std::string& name : argument.tensor_names) writer.text(name);
    writer.number(argument.is_input);
    writer.number(static_cast<std::uint64_t>(argument.role));
    writer.number(static_cast<std::uint64_t>(argument.network_type));
    writer.number(static_cast<std::uint64_t>(argument.type));
    writer.number(argument.shape.size());
    for (const Dimension& extent : argument.shape) {
      writer.number(static_cast<std::uint64_t>(extent.get_min_length()));
      writer.number(static_cast<std::uint64_t>(extent.get_max_length()));
    }
    writer.text(argument.network_layout);
    writer.text(argument.layout);
    writer.number(argument.port);
    writer.number(argument.reads_strides);
  }
  write(writer, timing);
  return std::move(writer).bytes();
}

ElementType read_type(store::TableReader& reader) {
  // Strings, the last, are objects of one process.
  return static_cast<ElementType>(reader.number(static_cast<std::uint64_t>(ElementType::kString) - 1));
}

std::vector<Argument> read_arguments(store::TableReader& reader) {
  constexpr std::uint64_t kMaxExtent = std::uint64_t{1} << 40;
  std::vector<Argument> arguments(reader.number(kMaxArguments));
  for (Argument& argument : arguments) {
    argument.name = reader.text();
    argument.friendly_name = reader.text();
    argument.tensor_names.resize(reader.number(kMaxArguments));
    for (std::string& name : argument.tensor_names) name = reader.text();
    argument.is_input = reader.number(1) != 0;
    argument.role = static_cast<Argument::Role>(reader.number(2));
    argument.network_type = read_type(reader);
    argument.type = read_type(reader);
    std::vector<Dimension> extents(reader.number(kMaxRank));
    for (Dimension& extent : extents) {
      const auto min = static_cast<std::int64_t>(reader.number(kMaxExtent));
      const auto max = static_cast<std::int64_t>(reader.number(kMaxExtent));
      if (min > max) damaged_binary("an argument's bounds are crossed");
      extent = Dimension(min, max);
    }
    argument.shape = PartialShape(std::move(extents));
    argument.network_layout = reader.text();
    argument.layout = reader.text();
    argument.port = static_cast<std::uint32_t>(reader.number(kMaxArguments));
    argument.reads_strides = reader.number(1) != 0;
  }
  return arguments;
}

/// Checks that the arguments' ports are those of the model; later code relies on it.
void check_arguments(const std::vector<Argument>& arguments, const Model& model) {
  std::size_t inputs = 0, outputs = 0;
  for (const Argument& argument : arguments) {
    if (argument.role == Argument::Role::kShape) {
      if (argument.port >= arguments.size() || arguments[argument.port].role != Argument::Role::kPort ||
          arguments[argument.port].is_input != argument.is_input ||
          argument.shape != PartialShape(Shape{arguments[argument.port].shape.size()}))
        damaged_binary("a shape argument speaks of no port");
      continue;
    }
    std::size_t& count = argument.is_input ? inputs : outputs;
    if (argument.port != count++) damaged_binary("its arguments are not in the order of its ports");
    const auto fits = [&](const auto& port) {
      return port.get_element_type() == argument.type && port.get_partial_shape().compatible(argument.shape);
    };
    const bool known = argument.is_input ? argument.port < model.inputs().size() && fits(model.input(argument.port))
                                         : argument.port < model.outputs().size() && fits(model.output(argument.port));
    if (!known) damaged_binary("its arguments are not those of its graph");
  }
  if (inputs != model.inputs().size() || outputs != model.outputs().size())
    damaged_binary("the ports of its graph differ from its arguments");
}

/// States come in pairs that one piece of memory can hold.
void check_states(const std::vector<Argument>& arguments) {
  std::size_t inputs = 0, outputs = 0;
  for (const Argument& argument : arguments) {
    if (argument.role != Argument::Role::kState) continue;
    ++(argument.is_input ? inputs : outputs);
    if (!argument.is_input) continue;
    const std::string_view name = argument.name;
    if (!name.starts_with(kReadValuePrefix)) damaged_binary("a state's name lacks the prefix of states");
    const std::string pair = kAssignPrefix + std::string(name.substr(std::size(kReadValuePrefix) - 1));
    const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& other) {
      return other.role == Argument::Role::kState && !other.is_input && other.name == pair;
    });
    if (found == arguments.end() || found->type != argument.type || found->shape != argument.shape)
      damaged_binary("a state is read and written in different ways");
  }
  if (inputs != outputs) damaged_binary("a state is written and not read");
}

/// Like check_arguments, for the initialisers: their inputs are ports, and they give values of some states.
void check_initialisers(const std::vector<Argument>& arguments, const Model& initialisers) {
  std::size_t ports = 0;
  for (const Argument& argument : arguments) {
    if (!argument.is_input || argument.role != Argument::Role::kPort) continue;
    if (ports >= initialisers.inputs().size() || initialisers.input(ports).get_element_type() != argument.type ||
        !initialisers.input(ports).get_partial_shape().compatible(argument.shape))
      damaged_binary("the inputs of its states' initialisers differ from those of its graph");
    ++ports;
  }
  if (ports != initialisers.inputs().size()) damaged_binary("its states' initialisers have more inputs than its graph");
  for (const auto& result : initialisers.get_results()) {
    const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& argument) {
      return argument.role == Argument::Role::kState && argument.name == kReadValuePrefix + result->get_friendly_name();
    });
    if (found == arguments.end() || found->type != result->get_output_element_type(0))
      damaged_binary("its states' initialisers name a state that does not exist");
  }
}

std::uint64_t initialisers_offset(const Fields& fields) {
  constexpr std::uint64_t kSection = 64;
  return store::aligned(fields.payload.offset + fields.payload.size, kSection);
}

BlobHeader checked_header(std::string_view bytes) {
  if (bytes.size() < kMagic.size() || !bytes.starts_with(kMagic)) foreign();
  const BlobHeader header = store::unseal<Fields>(bytes, blob_format());
  const Fields& fields = header.fields;
  const std::uint64_t total = header.start.total;
  store::check_total(header.start, sizeof header, bytes.size(), &damaged_binary);
  if (!store::lies_within(fields.arguments, sizeof header, total) ||
      !store::lies_within(fields.payload, sizeof header, total, 64) ||
      (fields.initialisers_size > 0 &&
       !store::lies_within({initialisers_offset(fields), fields.initialisers_size}, sizeof header, total)))
    damaged_binary("a section lies outside");
  store::check_content(header.start, sizeof header, bytes, &damaged_binary);
  return header;
}

Tensor map_descriptor(int fd, std::size_t size) {
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) out_of_memory("mmap");
  auto memory = adopt_bytes(address, size, false, [address, size] { ::munmap(address, size); });
  return Tensor(TensorInfo{ElementType::kU8, Shape{size}, {}}, std::move(memory));
}

BlobHeader make_header(const Settings& settings) {
  BlobHeader header{};
  Fields& fields = header.fields;
  fields.platform = settings.target.platform.number;
  fields.max_tiles = settings.target.max_tiles;
  fields.tiles = settings.target.tiles;
  fields.dma_engines = settings.target.dma_engines;
  fields.optimization_level = settings.optimization_level;
  const auto note = [&](bool is_set, Flag flag) { fields.flags |= is_set ? flag : 0u; };
  note(settings.target.turbo, kTurbo);
  note(settings.profiling, kProfiling);
  note(settings.fuse, kFuse);
  note(settings.blocked_layouts, kBlocked);
  note(settings.reference_kernels, kReference);
  fields.precision = static_cast<std::uint64_t>(settings.precision);
  return header;
}

Settings settings_of(const Fields& fields) {
  Settings settings;
  const Platform* platform = find_npu_platform(fields.platform);
  if (!platform)
    damaged_binary("it is for platform " + std::to_string(fields.platform) + ", which this driver does not know");
  if (fields.max_tiles < 1 || fields.max_tiles > 64 || fields.tiles < 1 || fields.tiles > fields.max_tiles)
    damaged_binary("it has " + std::to_string(fields.tiles) + " tiles of " + std::to_string(fields.max_tiles));
  if (fields.dma_engines < 1 || fields.dma_engines > 64)
    damaged_binary("it has " + std::to_string(fields.dma_engines) + " DMA engines");
  settings.target = {*platform, fields.max_tiles, fields.tiles, fields.dma_engines, (fields.flags & kTurbo) != 0};
  settings.profiling = fields.flags & kProfiling;
  settings.fuse = fields.flags & kFuse;
  settings.blocked_layouts = fields.flags & kBlocked;
  settings.reference_kernels = fields.flags & kReference;
  settings.optimization_level = fields.optimization_level;
  settings.precision = static_cast<ElementType>(fields.precision);
  if (settings.precision != ElementType::kF32 && settings.precision != ElementType::kBf16)
    damaged_binary("it computes in a type that this driver does not compute in");
  return settings;
}

}  // namespace

engine::Options Settings::engine_options() const {
  engine::Options options;
  options.threads = target.workers();
  options.profile = profiling;
  options.precision = precision;
  options.fuse = fuse;
  options.blocked_layouts = blocked_layouts;
  options.reference_only = reference_kernels;
  return options;
}

Tensor write_native_blob(const Settings& settings, const Interface& interface, const Timing& timing,
                         const engine::Blob& payload) {
  const UniqueFd file(::memfd_create("npu-graph", MFD_CLOEXEC));
  if (!file) out_of_memory("memfd_create");
  BlobHeader header = make_header(settings);
  Fields& fields = header.fields;
  const std::string table = write_tables(interface.arguments, timing);
  fields.arguments = {sizeof header, table.size()};
  fields.payload.offset = aligned(sizeof header + table.size());
  FileBuffer buffer(file.get());
  std::ostream stream(&buffer);
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream.write(table.data(), static_cast<std::streamsize>(table.size()));
  const std::string gap(fields.payload.offset - sizeof header - table.size(), '\0');
  stream.write(gap.data(), static_cast<std::streamsize>(gap.size()));
  engine::write_blob(stream, payload);
  fields.payload.size = buffer.written() - fields.payload.offset;
  if (interface.initialisers) {
    const std::string fill(initialisers_offset(fields) - fields.payload.offset - fields.payload.size, '\0');
    stream.write(fill.data(), static_cast<std::streamsize>(fill.size()));
    engine::Blob initialisers;
    initialisers.prepared.model = interface.initialisers;
    engine::write_blob(stream, initialisers);
    fields.initialisers_size = buffer.written() - initialisers_offset(fields);
  }
  // Rounded up to whole pages, so that a client can map the exported file and have it used in place.
  const std::size_t total = aligned(static_cast<std::size_t>(buffer.written()));
  stream.flush();
  if (!stream || ::ftruncate(file.get(), static_cast<::off_t>(total)) != 0) out_of_memory("ftruncate");
  const Tensor bytes = map_descriptor(file.get(), total);
  char* start = static_cast<char*>(bytes.data());
  header.start.total = total;
  header.start.content = store::content_hash(start + sizeof header, total - sizeof header);
  store::seal(header, blob_format());
  std::memcpy(start, &header, sizeof header);
  ::mprotect(start, total, PROT_READ);
  return bytes;
}

NativeBlob read_native_blob(const Tensor& bytes) {
  const std::string_view all = store::bytes_of(bytes);
  const BlobHeader header = checked_header(all);
  const Fields& fields = header.fields;
  NativeBlob blob;
  blob.settings = settings_of(fields);
  auto& arguments = blob.interface.arguments;
  store::TableReader tables(
      fields.arguments.in(all), &damaged_binary,
      {.ends_early = "its arguments end early", .out_of_range = "an argument's number is out of range"});
  arguments = read_arguments(tables);
  blob.timing = read_timing(tables);
  blob.payload = engine::read_blob(store::part_of(bytes, fields.payload.offset, fields.payload.size), true);
  check_arguments(arguments, *blob.payload.prepared.model);
  check_states(arguments);
  if (fields.initialisers_size > 0) {
    const auto part =
        engine::read_blob(store::part_of(bytes, initialisers_offset(fields), fields.initialisers_size), true);
    if (part.kind != engine::Blob::Kind::kModel) damaged_binary("its states' initialisers are no model");
    blob.interface.initialisers = part.prepared.model;
    check_initialisers(arguments, *blob.interface.initialisers);
  }
  blob.bytes = store::part_of(bytes, 0, header.start.total);
  return blob;
}

Tensor own_copy(std::span<const std::uint8_t> bytes) {
  Tensor copy(ElementType::kU8, Shape{bytes.size()});
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace tenon::npu::compiler
