/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, texts and lists. Generated from api/base.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_BASE_H
#define TENON_BINDINGS_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rules that hold for every function:
 * - It returns a status. On failure out-parameters are NULL or 0 and tenon_last_error_message() of this thread
 *   says what was wrong; on success they are set. No exception, no signal.
 * - Handles are opaque. Every handle that an out-parameter gave is freed with its tenon_*_free, which takes NULL
 *   too. Objects keep alive what they need: handles may be freed in any order. A pointer that is no handle of the
 *   type is refused as long as its memory can be read.
 * - Structs begin with struct_size = sizeof(the struct): programs built with older or newer headers work.
 * - Strings are UTF-8. Texts that an out-parameter char** gave are freed with tenon_string_free.
 * - Functions on different handles may run at once. One request runs one inference at a time. What else holds of
 *   threads is said at each function.
 * - Enumerations are int32_t with named constants: a value from elsewhere that has no name is an error, not
 *   undefined behaviour.
 */

#define TENON_C_API __attribute__((visibility("default")))

/* What every other part stands on. */

/* Handles of all groups. */
/* A list of texts. */
typedef struct tenon_strings tenon_strings_t;
/* A map from key to value, ordered by key. */
typedef struct tenon_properties tenon_properties_t;
/* One value of a property. */
typedef struct tenon_value tenon_value_t;
/* A shape whose extents, or whose rank, may be unknown. Unchangeable. */
typedef struct tenon_partial_shape tenon_partial_shape_t;
/* A view of memory. The memory lives as long as any tensor over it. */
typedef struct tenon_tensor tenon_tensor_t;
/* A picture. Its memory lives as long as the frame or a tensor of one of its planes. */
typedef struct tenon_frame tenon_frame_t;
/* A model. Reading from several threads is safe, changing (reshape) is not. */
typedef struct tenon_model tenon_model_t;
/* An input or output of a model or compiled model; keeps alive what it needs. */
typedef struct tenon_port tenon_port_t;
/* A device's context; kept alive by its tensors. */
typedef struct tenon_remote_context tenon_remote_context_t;
/* Entries of a ledger as they were when asked for. */
typedef struct tenon_ledger_entries tenon_ledger_entries_t;
/* The states of a request. */
typedef struct tenon_variable_states tenon_variable_states_t;
/* One state; keeps its request alive. */
typedef struct tenon_variable_state tenon_variable_state_t;
/* A request. */
typedef struct tenon_infer_request tenon_infer_request_t;
/* Times of the last inference, node by node, in order of execution. */
typedef struct tenon_profiling tenon_profiling_t;
/* A model compiled for a device. */
typedef struct tenon_compiled_model tenon_compiled_model_t;
/* Where everything starts: devices with their properties, one per program as a rule. */
typedef struct tenon_core tenon_core_t;
/* Versions of devices. */
typedef struct tenon_device_versions tenon_device_versions_t;
/* Steps for the inputs and outputs of a copy of a model. */
typedef struct tenon_preprocessor tenon_preprocessor_t;
/* Steps of one input; keeps its preprocessor alive. */
typedef struct tenon_preprocess_input tenon_preprocess_input_t;
/* Steps of one output; keeps its preprocessor alive. */
typedef struct tenon_preprocess_output tenon_preprocess_output_t;

/* The canonical codes; the numbers never change. */
typedef int32_t tenon_status_t;
enum {
  TENON_OK = 0,
  TENON_CANCELLED = 1, /* The caller asked to stop. */
  TENON_UNKNOWN = 2, /* A failure of foreign code without a code of its own. */
  TENON_INVALID_ARGUMENT = 3, /* An argument is wrong whatever the state: NULL, a shape or type that does not fit. */
  TENON_DEADLINE_EXCEEDED = 4, /* Still not done when the time was over. */
  TENON_NOT_FOUND = 5, /* No file, device, port or property of that name; the message lists those that exist. */
  TENON_ALREADY_EXISTS = 6,
  TENON_PERMISSION_DENIED = 7,
  TENON_RESOURCE_EXHAUSTED = 8, /* Memory, descriptors or disk. */
  TENON_FAILED_PRECONDITION = 9, /* Right argument, wrong moment: a request that is busy, memory the CPU can't address. */
  TENON_ABORTED = 10,
  TENON_OUT_OF_RANGE = 11, /* An index or region past the end. */
  TENON_UNIMPLEMENTED = 12, /* A device or build that lacks this. */
  TENON_INTERNAL = 13,
  TENON_UNAVAILABLE = 14, /* A device or library that is not there; the message says what is missing. */
  TENON_DATA_LOSS = 15 /* A damaged file. */
};

/* Called once, from any thread, when nobody uses the memory any more. */
typedef void (*tenon_release_t)(void* user);

/* "not found"; for a number that is no status: "unknown". Never NULL; valid for ever. */
TENON_C_API const char* tenon_status_name(tenon_status_t status);

/*
 * What went wrong in this thread's last call that failed; "" when none did. Never NULL; valid until this thread's
 * next failure.
 */
TENON_C_API const char* tenon_last_error_message(void);

/* The release: three numbers with dots between them. Never NULL; valid for ever. */
TENON_C_API const char* tenon_version(void);

/* Frees a text that an out-parameter gave. */
TENON_C_API void tenon_string_free(char* text);

/* Number of texts. */
TENON_C_API size_t tenon_strings_count(const tenon_strings_t* strings);

/* One text, valid as long as the list; NULL past the end. */
TENON_C_API const char* tenon_strings_get(const tenon_strings_t* strings, size_t index);

/* Frees the handle. */
TENON_C_API void tenon_strings_free(tenon_strings_t* strings);

#ifdef __cplusplus
}
#endif

#endif
