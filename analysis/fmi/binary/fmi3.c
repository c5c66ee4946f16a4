/* The functions of FMI 3.0. Their names, arguments and values are those of the standard (fmi-standard.org). */

#include "instance.h"

typedef void *fmi3Instance;
typedef const char *fmi3String;
typedef bool fmi3Boolean;
typedef int fmi3Status;
typedef void (*LogMessage)(void *environment, fmi3Status status, fmi3String category, fmi3String message);

static void log_message(const Instance *instance, Status status, const char *message)
{
    ((LogMessage)instance->callback)(instance->environment, (fmi3Status)status, "logStatusError", message);
}

#define FUNCTION(name, ...) EXPORTED fmi3Status name(fmi3Instance instance, ##__VA_ARGS__)

/* Functions that this model has no use for: they can be called, and say so. */
#define UNSUPPORTED(name, ...)                                                             \
    FUNCTION(name, ##__VA_ARGS__)                                                          \
    {                                                                                      \
        if (!may_call(instance, #name, ALIVE | TERMINATED)) return ERROR;                  \
        return refuse(instance, #name, "this model does not support it.");                 \
    }

/* Variables of types of which there are none: only calls without any are right. */
#define NO_VARIABLES(type, value)                                                                                 \
    FUNCTION(fmi3Get##type, const uint32_t references[], size_t num_references, value values[], size_t num_values) \
    {                                                                                                             \
        (void)references; (void)values;                                                                           \
        return none(instance, "fmi3Get" #type, num_references, num_values);                                       \
    }                                                                                                             \
    FUNCTION(fmi3Set##type, const uint32_t references[], size_t num_references, const value values[],             \
             size_t num_values)                                                                                   \
    {                                                                                                             \
        (void)references; (void)values;                                                                           \
        return none(instance, "fmi3Set" #type, num_references, num_values);                                       \
    }

static Status none(Instance *instance, const char *function, size_t num_references, size_t num_values)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!num_references && !num_values) return OK;
    return refuse(instance, function, "all variables of this model are Float64.");
}

EXPORTED fmi3String fmi3GetVersion(void) { return "3.0"; }

FUNCTION(fmi3SetDebugLogging, fmi3Boolean is_on, size_t num_categories, const fmi3String categories[])
{
    (void)is_on; (void)num_categories; (void)categories;
    return may_call(instance, "fmi3SetDebugLogging", ALIVE | TERMINATED) ? OK : ERROR;
}

/* ------------------------------------------------------------------ life */

EXPORTED fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                                   fmi3Boolean visible, fmi3Boolean is_logging, void *environment,
                                                   LogMessage log)
{
    (void)resources; (void)visible; (void)is_logging;
    if (!model.has_model_exchange) return NULL;
    return new_instance(name, token, true, log_message, (void (*)(void))log, environment);
}

EXPORTED fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources,
                                                  fmi3Boolean visible, fmi3Boolean is_logging,
                                                  fmi3Boolean is_event_mode_used, fmi3Boolean may_return_early,
                                                  const uint32_t intermediate[], size_t num_intermediate,
                                                  void *environment, LogMessage log, void (*update)(void))
{
    (void)resources; (void)visible; (void)is_logging; (void)intermediate;
    (void)num_intermediate; (void)update;
    if (!model.has_co_simulation) return NULL;
    Instance *instance = new_instance(name, token, false, log_message, (void (*)(void))log, environment);
    if (instance) {
        instance->is_event_mode_used = is_event_mode_used;
        instance->may_return_early = may_return_early;
    }
    return instance;
}

EXPORTED fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                                        fmi3Boolean visible, fmi3Boolean is_logging, void *environment,
                                                        LogMessage log, void (*update)(void), void (*lock)(void),
                                                        void (*unlock)(void))
{
    (void)name; (void)token; (void)resources; (void)visible; (void)is_logging; (void)update; (void)lock; (void)unlock;
    if (log) log(environment, ERROR, "logStatusError", "fmi3InstantiateScheduledExecution: not supported.");
    return NULL;
}

EXPORTED void fmi3FreeInstance(fmi3Instance instance) { free_instance(instance); }

FUNCTION(fmi3EnterInitializationMode, fmi3Boolean has_tolerance, double tolerance, double start, fmi3Boolean has_end,
         double end)
{
    (void)has_tolerance; (void)tolerance;
    return enter_initialization(instance, "fmi3EnterInitializationMode", start, has_end, end);
}

FUNCTION(fmi3ExitInitializationMode) { return exit_initialization(instance, "fmi3ExitInitializationMode"); }

FUNCTION(fmi3EnterEventMode) { return enter_events(instance, "fmi3EnterEventMode"); }

FUNCTION(fmi3Terminate) { return terminate(instance, "fmi3Terminate"); }

FUNCTION(fmi3Reset) { return reset(instance, "fmi3Reset"); }

/* ------------------------------------------------------------------ variables */

FUNCTION(fmi3GetFloat64, const uint32_t references[], size_t num_references, double values[], size_t num_values)
{
    return get_numbers(instance, "fmi3GetFloat64", references, num_references, values, num_values);
}

FUNCTION(fmi3SetFloat64, const uint32_t references[], size_t num_references, const double values[], size_t num_values)
{
    return set_numbers(instance, "fmi3SetFloat64", references, num_references, values, num_values);
}

NO_VARIABLES(Float32, float)
NO_VARIABLES(Int8, int8_t)
NO_VARIABLES(UInt8, uint8_t)
NO_VARIABLES(Int16, int16_t)
NO_VARIABLES(UInt16, uint16_t)
NO_VARIABLES(Int32, int32_t)
NO_VARIABLES(UInt32, uint32_t)
NO_VARIABLES(Int64, int64_t)
NO_VARIABLES(UInt64, uint64_t)
NO_VARIABLES(Boolean, bool)
NO_VARIABLES(String, fmi3String)

FUNCTION(fmi3GetBinary, const uint32_t references[], size_t num_references, size_t sizes[], const uint8_t *values[],
         size_t num_values)
{
    (void)references; (void)sizes; (void)values;
    return none(instance, "fmi3GetBinary", num_references, num_values);
}

FUNCTION(fmi3SetBinary, const uint32_t references[], size_t num_references, const size_t sizes[],
         const uint8_t *const values[], size_t num_values)
{
    (void)references; (void)sizes; (void)values;
    return none(instance, "fmi3SetBinary", num_references, num_values);
}

FUNCTION(fmi3GetClock, const uint32_t references[], size_t num_references, bool values[])
{
    (void)references; (void)values;
    return none(instance, "fmi3GetClock", num_references, 0);
}

FUNCTION(fmi3SetClock, const uint32_t references[], size_t num_references, const bool values[])
{
    (void)references; (void)values;
    return none(instance, "fmi3SetClock", num_references, 0);
}

UNSUPPORTED(fmi3GetNumberOfVariableDependencies, uint32_t reference, size_t *num)
UNSUPPORTED(fmi3GetVariableDependencies, uint32_t reference, size_t elements[], uint32_t others[], size_t of_others[],
            int kinds[], size_t num)
#define SLOPES(name, get, size_of_seed, size_of_result)                                                            \
    FUNCTION(name, const uint32_t unknowns[], size_t num_unknowns, const uint32_t knowns[], size_t num_knowns,     \
             const double seed[], size_t num_seed, double result[], size_t num_result)                             \
    {                                                                                                              \
        if (!may_call(instance, #name, ALIVE | TERMINATED)) return ERROR;                                          \
        if (num_seed != size_of_seed || num_result != size_of_result) {                                            \
            return refuse(instance, #name, "all variables of this model are single numbers.");                     \
        }                                                                                                          \
        return get(instance, #name, unknowns, num_unknowns, knowns, num_knowns, seed, result);                     \
    }
SLOPES(fmi3GetDirectionalDerivative, get_slopes, num_knowns, num_unknowns)
SLOPES(fmi3GetAdjointDerivative, get_adjoint_slopes, num_unknowns, num_knowns)
UNSUPPORTED(fmi3EnterConfigurationMode)
UNSUPPORTED(fmi3ExitConfigurationMode)
UNSUPPORTED(fmi3GetIntervalDecimal, const uint32_t references[], size_t num, double intervals[], int qualifiers[])
UNSUPPORTED(fmi3GetIntervalFraction, const uint32_t references[], size_t num, uint64_t counters[],
            uint64_t resolutions[], int qualifiers[])
UNSUPPORTED(fmi3GetShiftDecimal, const uint32_t references[], size_t num, double shifts[])
UNSUPPORTED(fmi3GetShiftFraction, const uint32_t references[], size_t num, uint64_t counters[], uint64_t resolutions[])
UNSUPPORTED(fmi3SetIntervalDecimal, const uint32_t references[], size_t num, const double intervals[])
UNSUPPORTED(fmi3SetIntervalFraction, const uint32_t references[], size_t num, const uint64_t counters[],
            const uint64_t resolutions[])
UNSUPPORTED(fmi3SetShiftDecimal, const uint32_t references[], size_t num, const double shifts[])
UNSUPPORTED(fmi3SetShiftFraction, const uint32_t references[], size_t num, const uint64_t counters[],
            const uint64_t resolutions[])
UNSUPPORTED(fmi3GetOutputDerivatives, const uint32_t references[], size_t num, const int32_t orders[], double values[],
            size_t num_values)
UNSUPPORTED(fmi3ActivateModelPartition, uint32_t clock, double time)

/* ------------------------------------------------------------------ saved states */

FUNCTION(fmi3GetFMUState, void **state) { return get_state(instance, "fmi3GetFMUState", state); }

FUNCTION(fmi3SetFMUState, void *state) { return set_state(instance, "fmi3SetFMUState", state); }

FUNCTION(fmi3FreeFMUState, void **state) { return free_state(instance, "fmi3FreeFMUState", state); }

FUNCTION(fmi3SerializedFMUStateSize, void *state, size_t *size)
{
    return serialized_size(instance, "fmi3SerializedFMUStateSize", state, size);
}

FUNCTION(fmi3SerializeFMUState, void *state, uint8_t bytes[], size_t size)
{
    return serialize(instance, "fmi3SerializeFMUState", state, bytes, size);
}

FUNCTION(fmi3DeserializeFMUState, const uint8_t bytes[], size_t size, void **state)
{
    return deserialize(instance, "fmi3DeserializeFMUState", bytes, size, state);
}

/* ------------------------------------------------------------------ events */

FUNCTION(fmi3EvaluateDiscreteStates)
{
    return may_call(instance, "fmi3EvaluateDiscreteStates", INITIALIZING | EVENTS) ? OK : ERROR;
}

FUNCTION(fmi3UpdateDiscreteStates, fmi3Boolean *needs_more, fmi3Boolean *is_ended, fmi3Boolean *nominals_changed,
         fmi3Boolean *states_changed, fmi3Boolean *has_next, double *next)
{
    bool has_changed = false, has_ended = false;
    double time = INFINITY;
    Status status = update_discrete_states(instance, "fmi3UpdateDiscreteStates", &has_changed, &has_ended, &time);
    if (status != OK) return status;
    if (needs_more) *needs_more = false;
    if (is_ended) *is_ended = has_ended;
    if (nominals_changed) *nominals_changed = false;
    if (states_changed) *states_changed = has_changed;
    if (has_next) *has_next = isfinite(time);
    if (next) *next = isfinite(time) ? time : 0.0;
    return OK;
}

FUNCTION(fmi3EnterStepMode)
{
    if (!may_call(instance, "fmi3EnterStepMode", EVENTS)) return ERROR;
    Instance *mine = instance;
    if (mine->is_model_exchange) return refuse(instance, "fmi3EnterStepMode", "this is an instance for model exchange.");
    mine->place.mode = STEPPING;
    return OK;
}

/* ------------------------------------------------------------------ model exchange */

FUNCTION(fmi3EnterContinuousTimeMode)
{
    if (!may_call(instance, "fmi3EnterContinuousTimeMode", EVENTS)) return ERROR;
    Instance *mine = instance;
    if (!mine->is_model_exchange) {
        return refuse(instance, "fmi3EnterContinuousTimeMode", "this is an instance for co-simulation.");
    }
    mine->place.mode = CONTINUOUS;
    return OK;
}

FUNCTION(fmi3CompletedIntegratorStep, fmi3Boolean is_final, fmi3Boolean *needs_event_mode, fmi3Boolean *is_ended)
{
    (void)is_final;
    bool needs_events = false;
    Status status = complete_step(instance, "fmi3CompletedIntegratorStep", &needs_events);
    if (needs_event_mode) *needs_event_mode = needs_events;
    if (is_ended) *is_ended = false;
    return status;
}

FUNCTION(fmi3SetTime, double time) { return set_time(instance, "fmi3SetTime", time); }

FUNCTION(fmi3SetContinuousStates, const double states[], size_t num)
{
    return set_states(instance, "fmi3SetContinuousStates", states, num);
}

FUNCTION(fmi3GetContinuousStates, double states[], size_t num)
{
    return get_states(instance, "fmi3GetContinuousStates", states, num);
}

FUNCTION(fmi3GetContinuousStateDerivatives, double derivatives[], size_t num)
{
    return get_derivatives(instance, "fmi3GetContinuousStateDerivatives", derivatives, num);
}

FUNCTION(fmi3GetEventIndicators, double indicators[], size_t num)
{
    return get_indicators(instance, "fmi3GetEventIndicators", indicators, num);
}

FUNCTION(fmi3GetNominalsOfContinuousStates, double nominals[], size_t num)
{
    return get_nominals(instance, "fmi3GetNominalsOfContinuousStates", nominals, num);
}

FUNCTION(fmi3GetNumberOfEventIndicators, size_t *num)
{
    if (!may_call(instance, "fmi3GetNumberOfEventIndicators", ALIVE | TERMINATED) || !num) return ERROR;
    *num = model.num_indicators;
    return OK;
}

FUNCTION(fmi3GetNumberOfContinuousStates, size_t *num)
{
    if (!may_call(instance, "fmi3GetNumberOfContinuousStates", ALIVE | TERMINATED) || !num) return ERROR;
    *num = model.num_states;
    return OK;
}

/* ------------------------------------------------------------------ co-simulation */

FUNCTION(fmi3DoStep, double time, double step, fmi3Boolean is_final, fmi3Boolean *needs_events, fmi3Boolean *is_ended,
         fmi3Boolean *is_early, double *last_time)
{
    (void)is_final;
    Outlook outlook;
    Status status = advance_by(instance, "fmi3DoStep", time, step, &outlook);
    if (needs_events) *needs_events = outlook.needs_events;
    if (is_ended) *is_ended = outlook.is_ended;
    if (is_early) *is_early = outlook.is_early;
    if (last_time && instance) *last_time = *(double *)((Instance *)instance)->memory;
    return status;
}
