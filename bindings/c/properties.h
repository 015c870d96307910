/* SPDX-License-Identifier: Apache-2.0 */
/* Properties. Generated from api/properties.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_PROPERTIES_H
#define TENON_BINDINGS_C_PROPERTIES_H

#include <tenon/bindings/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Settings of devices, compiled models and contexts, by OpenVINO's keys ("PERFORMANCE_HINT", "NUM_STREAMS"). Every
 * property accepts text. Typed values are for what text cannot express (handles, blobs, settings of one device
 * among several) and for reading without parsing.
 */

/* The type of a value. The tenon_value_as_* functions convert if nothing is lost; as_text accepts any kind. */
typedef int32_t tenon_value_kind_t;
enum {
  TENON_VALUE_NONE = 0,
  TENON_VALUE_TEXT = 1, /* Also enumerations, element types and anything else with a text form: "LATENCY". */
  TENON_VALUE_BOOL = 2,
  TENON_VALUE_INT = 3,
  TENON_VALUE_DOUBLE = 4,
  TENON_VALUE_POINTER = 5, /* A native handle. */
  TENON_VALUE_STRINGS = 6, /* A list of texts: SUPPORTED_PROPERTIES, AVAILABLE_DEVICES. */
  TENON_VALUE_MAP = 7, /* Properties within a property. */
  TENON_VALUE_TENSOR = 8
};

/* A setting as text. This struct never changes. */
typedef struct tenon_property {
  const char* key;
  const char* value; /* "YES", "4", "LATENCY". */
} tenon_property_t;

/*
 * Encrypts or decrypts cache entries. Called twice: with `output` NULL to get the number of bytes, then with room
 * for them. Writes the number of bytes to *output_size. Returns TENON_OK, or an error, after which the entry
 * counts as missing.
 */
typedef tenon_status_t (*tenon_crypt_t)(const char* input, size_t input_size, char* output, size_t* output_size,
    void* user);

/* An empty map. */
TENON_C_API tenon_status_t tenon_properties_create(tenon_properties_t** out);

/* Sets a value as text, which every property accepts. */
TENON_C_API tenon_status_t tenon_properties_set_text(tenon_properties_t* properties, const char* key,
    const char* value);

/* Sets a truth value. */
TENON_C_API tenon_status_t tenon_properties_set_bool(tenon_properties_t* properties, const char* key, bool value);

/* Sets an integer. Whether it fits the property is checked on use. */
TENON_C_API tenon_status_t tenon_properties_set_int64(tenon_properties_t* properties, const char* key, int64_t value);

/* Sets a real number. */
TENON_C_API tenon_status_t tenon_properties_set_double(tenon_properties_t* properties, const char* key, double value);

/*
 * Sets a native handle (OCL_CONTEXT, MEM_HANDLE, ...), borrowed as the property's documentation says.
 * value NULL: a null handle.
 */
TENON_C_API tenon_status_t tenon_properties_set_pointer(tenon_properties_t* properties, const char* key, void* value);

/* Sets a tensor (COMPILED_BLOB), whose memory the map then shares. */
TENON_C_API tenon_status_t tenon_properties_set_tensor(tenon_properties_t* properties, const char* key,
    const tenon_tensor_t* value);

/*
 * Sets properties within a property: key "DEVICE_PROPERTIES", value a map from device to its map. The value is
 * copied.
 */
TENON_C_API tenon_status_t tenon_properties_set_map(tenon_properties_t* properties, const char* key,
    const tenon_properties_t* value);

/*
 * Sets CACHE_ENCRYPTION_CALLBACKS: `encrypt` for writing to the compiled-model cache, `decrypt` for reading. Both
 * may be called from any thread, as long as the map or models compiled with it exist.
 * user NULL: passed on.
 */
TENON_C_API tenon_status_t tenon_properties_set_cache_encryption(tenon_properties_t* properties,
    tenon_crypt_t encrypt, tenon_crypt_t decrypt, void* user);

/*
 * Removes a key.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_properties_erase(tenon_properties_t* properties, const char* key);

/* Number of keys. */
TENON_C_API size_t tenon_properties_count(const tenon_properties_t* properties);

/* The key at a position of the ordered map, valid until the map changes; NULL past the end. */
TENON_C_API const char* tenon_properties_key(const tenon_properties_t* properties, size_t index);

/*
 * The value of a key.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_properties_get(const tenon_properties_t* properties, const char* key,
    tenon_value_t** out);

/*
 * The value of a key as text.
 * Statuses: NOT_FOUND.
 */
TENON_C_API tenon_status_t tenon_properties_get_text(const tenon_properties_t* properties, const char* key,
    char** out);

/* The value's kind. */
TENON_C_API tenon_value_kind_t tenon_value_kind(const tenon_value_t* value);

/* As a truth value; also accepts 0 and 1, YES and NO. */
TENON_C_API tenon_status_t tenon_value_as_bool(const tenon_value_t* value, bool* out);

/* As an integer; also accepts text that is one. */
TENON_C_API tenon_status_t tenon_value_as_int64(const tenon_value_t* value, int64_t* out);

/* As a real number. */
TENON_C_API tenon_status_t tenon_value_as_double(const tenon_value_t* value, double* out);

/* As text; works for any kind. */
TENON_C_API tenon_status_t tenon_value_as_text(const tenon_value_t* value, char** out);

/* As a native handle, borrowed: valid as long as the context or tensor that owns it. */
TENON_C_API tenon_status_t tenon_value_as_pointer(const tenon_value_t* value, void** out);

/* As a list of texts; text is split at blanks. */
TENON_C_API tenon_status_t tenon_value_as_strings(const tenon_value_t* value, tenon_strings_t** out);

/* As properties within a property. */
TENON_C_API tenon_status_t tenon_value_as_map(const tenon_value_t* value, tenon_properties_t** out);

/* As a tensor over the same memory. */
TENON_C_API tenon_status_t tenon_value_as_tensor(const tenon_value_t* value, tenon_tensor_t** out);

/* Frees the handle. */
TENON_C_API void tenon_properties_free(tenon_properties_t* properties);

/* Frees the handle. */
TENON_C_API void tenon_value_free(tenon_value_t* value);

#ifdef __cplusplus
}
#endif

#endif
