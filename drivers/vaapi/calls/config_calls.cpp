// SPDX-License-Identifier: Apache-2.0
// Profiles, entry points, configurations and their attributes.
#include <algorithm>
#include <vector>

#include <tenon/drivers/vaapi/calls/calls.hpp>
#include <tenon/drivers/vaapi/codec/decode_task.hpp>
#include <tenon/drivers/vaapi/codec/encode_task.hpp>

namespace tenon::va::calls {
namespace {

constexpr std::uint32_t kMaxEncoded_px = 8192;

std::vector<VAProfile> profiles() {
  std::vector<VAProfile> all;
  for (const DecodeProfile& one : decode_profiles()) all.push_back(one.profile);
  all.push_back(VAProfileNone);  // The profile of video processing.
  return all;
}

std::vector<VAEntrypoint> entrypoints(VAProfile profile) {
  std::vector<VAEntrypoint> all;
  if (find_decode_profile(profile)) all.push_back(VAEntrypointVLD);
  if (encodes(profile)) all.push_back(VAEntrypointEncSlice);
  if (profile == VAProfileNone) all.push_back(VAEntrypointVideoProc);
  return all;
}

/// Every attribute of a profile and entry point, with all supported values.
std::vector<VAConfigAttrib> attributes_of(VAProfile profile, VAEntrypoint entrypoint) {
  std::vector<VAConfigAttrib> all{{VAConfigAttribRTFormat, rt_formats_of(profile, entrypoint)}};
  std::uint32_t side_px = kMaxSide_px;
  if (const DecodeProfile* decode = find_decode_profile(profile); decode && entrypoint == VAEntrypointVLD) {
    all.push_back({VAConfigAttribDecSliceMode, VA_DEC_SLICE_MODE_NORMAL});
    all.push_back({VAConfigAttribDecProcessing, VA_DEC_PROCESSING_NONE});
    side_px = static_cast<std::uint32_t>(decode->max_side_px);
  }
  if (entrypoint == VAEntrypointEncSlice) {
    const auto more = encode_attributes();
    all.insert(all.end(), more.begin(), more.end());
    side_px = kMaxEncoded_px;
  }
  all.push_back({VAConfigAttribMaxPictureWidth, side_px});
  all.push_back({VAConfigAttribMaxPictureHeight, side_px});
  return all;
}

VAStatus check_pair(VAProfile profile, VAEntrypoint entrypoint) {
  const auto known = entrypoints(profile);
  if (known.empty()) return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
  if (std::find(known.begin(), known.end(), entrypoint) == known.end()) return VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
  return VA_STATUS_SUCCESS;
}

VAStatus query_profiles(VADriverContextP, VAProfile* list, int* count) {
  return guarded([&]() -> VAStatus {
    if (!list || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto all = profiles();
    std::copy(all.begin(), all.end(), list);
    *count = static_cast<int>(all.size());
    return VA_STATUS_SUCCESS;
  });
}

VAStatus query_entrypoints(VADriverContextP, VAProfile profile, VAEntrypoint* list, int* count) {
  return guarded([&]() -> VAStatus {
    if (!list || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto all = entrypoints(profile);
    *count = static_cast<int>(all.size());
    std::copy(all.begin(), all.end(), list);
    return all.empty() ? VA_STATUS_ERROR_UNSUPPORTED_PROFILE : VA_STATUS_SUCCESS;
  });
}

VAStatus get_attributes(VADriverContextP, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib* list, int count) {
  return guarded([&]() -> VAStatus {
    if (const VAStatus status = check_pair(profile, entrypoint)) return status;
    if (count < 0 || (count > 0 && !list)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    const auto all = attributes_of(profile, entrypoint);
    for (VAConfigAttrib& wanted : std::span(list, static_cast<std::size_t>(count))) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.type == wanted.type; });
      wanted.value = found == all.end() ? VA_ATTRIB_NOT_SUPPORTED : found->value;
    }
    return VA_STATUS_SUCCESS;
  });
}

/// Puts a client's choice into the attributes. A choice is some of the supported bits; sizes are limits, not choices.
/// @source libva-utils' test_va_api, which requires VA_STATUS_ERROR_INVALID_VALUE for unsupported values.
VAStatus choose(std::vector<VAConfigAttrib>& all, const VAConfigAttrib& choice) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.type == choice.type; });
  if (found == all.end())
    return choice.value == VA_ATTRIB_NOT_SUPPORTED ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_VALUE;
  if (choice.type == VAConfigAttribRTFormat) {
    if ((choice.value & found->value) == 0) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    found->value &= choice.value;
    return VA_STATUS_SUCCESS;
  }
  if (choice.type == VAConfigAttribMaxPictureWidth || choice.type == VAConfigAttribMaxPictureHeight)
    return choice.value <= found->value ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
  if (choice.value & ~found->value) return VA_STATUS_ERROR_INVALID_VALUE;
  found->value = choice.value;
  return VA_STATUS_SUCCESS;
}

VAStatus create_config(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint, VAConfigAttrib* list,
                       int count, VAConfigID* id) {
  return guarded([&]() -> VAStatus {
    if (!id || count < 0 || (count > 0 && !list)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    *id = VA_INVALID_ID;
    if (const VAStatus status = check_pair(profile, entrypoint)) return status;
    auto attributes = attributes_of(profile, entrypoint);
    for (const VAConfigAttrib& choice : std::span(list, static_cast<std::size_t>(count))) {
      if (const VAStatus status = choose(attributes, choice)) return status;
    }
    *id = make_object<Config>(display_of(context), profile, entrypoint, std::move(attributes))->id();
    return VA_STATUS_SUCCESS;
  });
}

VAStatus destroy_config(VADriverContextP context, VAConfigID id) {
  return destroy_id(display_of(context), id, Kind::kConfig) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONFIG;
}

VAStatus query_config(VADriverContextP context, VAConfigID id, VAProfile* profile, VAEntrypoint* entrypoint,
                      VAConfigAttrib* list, int* count) {
  const Ref<Config> config = acquire<Config>(display_of(context), id);
  if (!config) return VA_STATUS_ERROR_INVALID_CONFIG;
  if (!profile || !entrypoint || !list || !count) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *profile = config->profile;
  *entrypoint = config->entrypoint;
  std::copy(config->attributes.begin(), config->attributes.end(), list);
  *count = static_cast<int>(config->attributes.size());
  return VA_STATUS_SUCCESS;
}

}  // namespace

int max_profiles() { return static_cast<int>(profiles().size()); }

std::uint32_t rt_formats_of(VAProfile profile, VAEntrypoint entrypoint) {
  if (profile == VAProfileNone && entrypoint == VAEntrypointVideoProc) {
    std::uint32_t all = 0;
    for (const Format& format : formats()) all |= format.rt_format;
    return all & ~std::uint32_t{VA_RT_FORMAT_YUV422_10};  // libswscale 6 does not write Y210.
  }
  if (entrypoint == VAEntrypointEncSlice) return encode_rt_formats(profile);
  const DecodeProfile* decode = find_decode_profile(profile);
  return decode && entrypoint == VAEntrypointVLD ? decode->rt_formats : 0;
}

void fill_config_calls(VADriverVTable& table) {
  table.vaQueryConfigProfiles = query_profiles;
  table.vaQueryConfigEntrypoints = query_entrypoints;
  table.vaGetConfigAttributes = get_attributes;
  table.vaCreateConfig = create_config;
  table.vaDestroyConfig = destroy_config;
  table.vaQueryConfigAttributes = query_config;
}

}  // namespace tenon::va::calls
