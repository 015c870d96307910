// SPDX-License-Identifier: Apache-2.0
// Compiled models as bytes: the graph and its weights. Programs are in the cache of programs, which belongs to one driver.
#include <ostream>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/compiled_model.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/release.hpp>
#include <tenon/store/sealed_header.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

constexpr std::uint32_t kVersion = 1;

struct BlobFields {
  store::MadeBy made_by;
  std::uint64_t text_bytes, weights_offset;
};
using BlobHeader = store::Sealed<BlobFields>;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Code::kDataLoss, "GPU: the blob is damaged or truncated: " + what);
}

store::Format blob_format() {
  store::Format format{.magic = "TENONGBL", .version = kVersion, .damaged = &damaged};
  format.foreign = [] { throw Error(Code::kInvalidArgument, "GPU: these bytes are no blob of this device"); };
  format.other_version = [](const store::SealStart& found) {
    throw Error(Code::kFailedPrecondition, "GPU: the blob has version " + std::to_string(found.version) +
                                               ", this device reads " + std::to_string(kVersion));
  };
  return format;
}

}  // namespace

void CompiledModel::export_model(std::ostream& stream) const {
  const SerializedModel graph = serialize(*source_);
  BlobHeader header{};
  header.fields.made_by = store::MadeBy::this_release();
  std::string body = graph.xml;
  header.fields.text_bytes = body.size();
  header.fields.weights_offset = store::aligned(sizeof header + body.size(), 64);
  body.resize(header.fields.weights_offset - sizeof header, ' ');
  const std::size_t weights_bytes = graph.weights ? graph.weights.size_bytes() : 0;
  store::ContentHasher hasher;
  hasher.add(body.data(), body.size());
  if (weights_bytes) hasher.add(graph.weights.data(), weights_bytes);
  header.start.content = hasher.result();
  header.start.total = header.fields.weights_offset + weights_bytes;
  store::seal(header, blob_format());
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream.write(body.data(), static_cast<std::streamsize>(body.size()));
  if (weights_bytes)
    stream.write(static_cast<const char*>(graph.weights.data()), static_cast<std::streamsize>(weights_bytes));
  if (!stream) throw Error(Code::kDataLoss, "GPU: the stream took only a part of the blob");
}

std::shared_ptr<Model> read_blob(const Tensor& bytes, bool is_verified) {
  const std::string_view all = store::bytes_of(bytes);
  const BlobHeader header = store::unseal<BlobFields>(all, blob_format());
  store::check_made_by(header.fields.made_by, "GPU");
  store::check_total(header.start, sizeof header, all.size(), &damaged);
  const store::Section text{sizeof header, header.fields.text_bytes};
  const store::Section weights{header.fields.weights_offset, header.start.total - header.fields.weights_offset};
  if (!store::lies_within(weights, sizeof header, header.start.total) ||
      !store::lies_within(text, sizeof header, weights.offset))
    damaged("parts of it lie outside");
  if (!is_verified) store::check_content(header.start, sizeof header, all, &damaged);
  return read_ir(text.in(all), store::part_of(bytes, weights.offset, weights.size), "the blob's graph");
}

}  // namespace tenon::inline v1::gpu_device
