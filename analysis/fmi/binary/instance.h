/* An instance of the model: its memory, what it may be asked in which mode, and how. FMI's functions are in fmi2.c and
 * fmi3.c; model.c is written for each model. */

#ifndef INSTANCE_H
#define INSTANCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* The model: written into model.c, see binaries.py. */
typedef enum { TIME, INPUT, PARAMETER, STATE, DISCRETE_STATE, DERIVATIVE, OUTPUT, INDICATOR } Kind;
typedef struct {
    uint32_t place; /* among the numbers of the model */
    Kind kind;
} Variable;
/* Numbers of compiled functions (entry.py, plan/loop.py). */
typedef struct {
    uint32_t START, BEGIN, PREPARE, ADVANCE, RUN, EVALUATE, UPDATE, NEXT_EVENT, NOTE_TRIGGERS, OUTLOOK, IN_PIECE;
} Entries;
typedef struct {
    char token[40];
    bool has_model_exchange, has_co_simulation;
    uint32_t num_variables, num_states, derivatives; /* where these begin among the numbers */
    uint32_t image_size, num_addresses, num_functions;
    uint32_t problem;                                /* where the Problem of the loop is in the image */
    uint32_t outputs, num_operations;                /* where the list of operations of the outputs is, if it has any */
    uint32_t num_numbers, slopes, num_slopes, complex_numbers; /* the same on complex numbers, and where these are */
    bool has_pieces, steps_are_events;               /* of model exchange, see pieces.py */
    uint32_t indicators, num_indicators;             /* where these begin, as if they were among the numbers */
    uint32_t num_capacities, num_found, num_arrays;  /* of what grows, see memory.c */
    Entries entries;
} Model;
extern const Model model;
extern const Variable model_variables[];
extern const unsigned char model_image[];
extern const uint32_t model_addresses[]; /* where words are that are addresses in the image */
extern const uint32_t model_functions[]; /* where words are that are numbers of compiled functions */
/* What grows: for each capacity its places and the path of its system; where the code leaves how many it has found; the
 * arrays, and for each of them and each capacity how much longer it is for one more place; and where words are that are
 * addresses of arrays, with their shapes behind them, for one array after the other. */
typedef struct {
    uint32_t place, capacity;
} Found;
typedef struct {
    uint32_t place, num_words, axis; /* that grows */
    bool is_emptied;                 /* when it grows */
    int64_t length, item_size;       /* along that axis, and in bytes */
} Array;
extern const int64_t model_places[];
extern const char *const model_owners[];
extern const Found model_found[];
extern const Array model_arrays[];
extern const int64_t model_growths[];
extern const uint32_t model_array_words[];
typedef void (*Code)(void);
extern const Code *model_codes; /* for the processor that this runs on */
extern const bool model_has_new_codes;
extern bool has_missed_code; /* whether a function was needed that the library has not */
void model_use_new_codes(void); /* from now on, uses those for processors of the level x86-64-v3 */

/* Of FMI 2 and 3 alike. */
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;

/* Where an instance is in its life; bits, so that a function may be allowed in several. */
typedef enum {
    INSTANTIATED = 1,
    INITIALIZING = 2,
    STEPPING = 4,
    EVENTS = 8,
    CONTINUOUS = 16,
    TERMINATED = 32,
} Mode;
#define RUNNING (STEPPING | EVENTS | CONTINUOUS)
#define ALIVE (INSTANTIATED | INITIALIZING | RUNNING)

#define MARK 0x6d657267616e7365u /* of memory that is ours */
#define NUMBERS(instance) ((double *)(instance)->memory)
typedef struct Instance Instance;

/* Passes on a message; what is behind it depends on the version of FMI. */
typedef void (*Log)(const Instance *instance, Status status, const char *message);

/* What is saved and restored with the memory. */
typedef struct {
    int32_t mode;
    int32_t has_changed;    /* whether inputs, parameters or states are others than in the last step */
    int32_t is_outdated;    /* whether the outputs have to be computed */
    int32_t is_event_due;   /* whether updates are to be made */
    int32_t has_ended;      /* whether the model has asked to end the simulation */
    int32_t is_in_piece;    /* whether regions and sides of witness functions are fixed, see pieces.py */
    double next_event;      /* of clocks, or the end of a piece [s] */
    double clock_time;      /* whose clocks are due, nan without any; then when clocks were last due [s] */
    double last_event;      /* time after which the next event is [s] */
} Place;

struct Instance {
    uint64_t mark;
    unsigned char *memory;
    int64_t *places;        /* of the capacities */
    Place place;
    bool is_model_exchange, is_event_mode_used, may_return_early;
    char *name;
    void *environment;      /* of the importer */
    Log log;
    void (*callback)(void);
    double end;             /* [s]; infinity without one */
};

Instance *new_instance(const char *name, const char *token, bool is_model_exchange, Log log, void (*callback)(void),
                       void *environment);
void free_instance(Instance *instance);
bool may_call(Instance *instance, const char *function, int modes);
Status refuse(Instance *instance, const char *function, const char *format, ...);

Status get_numbers(Instance *instance, const char *function, const uint32_t references[], size_t num_references,
                   double values[], size_t num_values);
Status set_numbers(Instance *instance, const char *function, const uint32_t references[], size_t num_references,
                   const double values[], size_t num_values);

Status enter_initialization(Instance *instance, const char *function, double start, bool has_end, double end);
Status exit_initialization(Instance *instance, const char *function);
typedef struct {
    bool needs_events, is_ended, is_early;
} Outlook;
Status advance_by(Instance *instance, const char *function, double time, double step, Outlook *outlook);
Status terminate(Instance *instance, const char *function);
Status reset(Instance *instance, const char *function);

Status enter_events(Instance *instance, const char *function);
Status update_discrete_states(Instance *instance, const char *function, bool *has_changed, bool *is_ended,
                              double *next_event);
Status complete_step(Instance *instance, const char *function, bool *needs_events);
Status set_time(Instance *instance, const char *function, double time);
Status get_states(Instance *instance, const char *function, double states[], size_t num_states);
Status set_states(Instance *instance, const char *function, const double states[], size_t num_states);
Status get_derivatives(Instance *instance, const char *function, double derivatives[], size_t num_states);
Status get_indicators(Instance *instance, const char *function, double indicators[], size_t num_indicators);
Status get_nominals(Instance *instance, const char *function, double nominals[], size_t num_states);
Status get_slopes(Instance *instance, const char *function, const uint32_t unknowns[], size_t num_unknowns,
                  const uint32_t knowns[], size_t num_knowns, const double seed[], double slopes[]);

Status get_adjoint_slopes(Instance *instance, const char *function, const uint32_t unknowns[], size_t num_unknowns,
                          const uint32_t knowns[], size_t num_knowns, const double seed[], double slopes[]);

/* Changes what memory holds as addresses in itself, from where it was to where it is. */
void move_addresses(unsigned char *memory, uintptr_t from, uintptr_t to);
/* How many bytes it takes with these capacities, and whether these are those of the model or larger. */
size_t memory_size(const int64_t places[]);
bool are_places_right(const int64_t places[]);
/* Makes the memory of an instance a copy of some content of these capacities, whose addresses are counted from its start. */
bool take_memory(Instance *instance, const unsigned char *content, const int64_t places[]);
void free_memory(unsigned char *memory);
/* Called when code has failed: enlarges what it has found too small, if that is why; then it can be called again. */
bool make_room(Instance *instance, const char *function);

Status get_state(Instance *instance, const char *function, void **state);
Status set_state(Instance *instance, const char *function, void *state);
Status free_state(Instance *instance, const char *function, void **state);
Status serialized_size(Instance *instance, const char *function, void *state, size_t *size);
Status serialize(Instance *instance, const char *function, void *state, unsigned char bytes[], size_t size);
Status deserialize(Instance *instance, const char *function, const unsigned char bytes[], size_t size, void **state);

#endif
