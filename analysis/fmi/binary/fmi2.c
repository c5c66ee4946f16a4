/* The functions of FMI 2.0. Their names, arguments and values are those of the standard (fmi-standard.org). */

#include "instance.h"

typedef void *fmi2Component;
typedef const char *fmi2String;
typedef int fmi2Boolean;
typedef int fmi2Status;
typedef void (*Logger)(void *environment, fmi2String name, fmi2Status status, fmi2String category, fmi2String message,
                       ...);
typedef struct {
    Logger log;
    void *(*allocate)(size_t, size_t);
    void (*free)(void *);
    void (*step_is_finished)(void *, fmi2Status);
    void *environment;
} Callbacks;
typedef struct {
    fmi2Boolean needs_more, is_ended, nominals_changed, states_changed, has_next;
    double next;
} EventInfo;

enum { MODEL_EXCHANGE, CO_SIMULATION };

static void log_message(const Instance *instance, Status status, const char *message)
{
    ((Logger)instance->callback)(instance->environment, instance->name, (fmi2Status)status, "logStatusError", "%s",
                                 message);
}

#define FUNCTION(name, ...) EXPORTED fmi2Status name(fmi2Component instance, ##__VA_ARGS__)

#define NO_VARIABLES(type, value)                                                                             \
    FUNCTION(fmi2Get##type, const uint32_t references[], size_t num, value values[])                          \
    {                                                                                                         \
        (void)references; (void)values;                                                                       \
        return none(instance, "fmi2Get" #type, num);                                                          \
    }                                                                                                         \
    FUNCTION(fmi2Set##type, const uint32_t references[], size_t num, const value values[])                    \
    {                                                                                                         \
        (void)references; (void)values;                                                                       \
        return none(instance, "fmi2Set" #type, num);                                                          \
    }

static Status none(Instance *instance, const char *function, size_t num)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    return num ? refuse(instance, function, "all variables of this model are Real.") : OK;
}

EXPORTED fmi2String fmi2GetTypesPlatform(void) { return "default"; }

EXPORTED fmi2String fmi2GetVersion(void) { return "2.0"; }

FUNCTION(fmi2SetDebugLogging, fmi2Boolean is_on, size_t num_categories, const fmi2String categories[])
{
    (void)is_on; (void)num_categories; (void)categories;
    return may_call(instance, "fmi2SetDebugLogging", ALIVE | TERMINATED) ? OK : ERROR;
}

/* ------------------------------------------------------------------ life */

EXPORTED fmi2Component fmi2Instantiate(fmi2String name, int kind, fmi2String guid, fmi2String resources,
                                       const Callbacks *callbacks, fmi2Boolean visible, fmi2Boolean is_logging)
{
    (void)resources; (void)visible; (void)is_logging;
    bool is_built = (kind == MODEL_EXCHANGE && model.has_model_exchange) || (kind == CO_SIMULATION && model.has_co_simulation);
    if (!is_built || !callbacks) return NULL;
    return new_instance(name, guid, kind == MODEL_EXCHANGE, log_message, (void (*)(void))callbacks->log,
                        callbacks->environment);
}

EXPORTED void fmi2FreeInstance(fmi2Component instance) { free_instance(instance); }

FUNCTION(fmi2SetupExperiment, fmi2Boolean has_tolerance, double tolerance, double start, fmi2Boolean has_end, double end)
{
    (void)has_tolerance; (void)tolerance;
    if (!may_call(instance, "fmi2SetupExperiment", INSTANTIATED)) return ERROR;
    Status status = enter_initialization(instance, "fmi2SetupExperiment", start, has_end, end);
    if (status == OK) ((Instance *)instance)->place.mode = INSTANTIATED;
    return status;
}

FUNCTION(fmi2EnterInitializationMode)
{
    if (!may_call(instance, "fmi2EnterInitializationMode", INSTANTIATED)) return ERROR;
    Instance *mine = instance;
    mine->place.mode = INITIALIZING;
    return OK;
}

FUNCTION(fmi2ExitInitializationMode) { return exit_initialization(instance, "fmi2ExitInitializationMode"); }

FUNCTION(fmi2Terminate) { return terminate(instance, "fmi2Terminate"); }

FUNCTION(fmi2Reset) { return reset(instance, "fmi2Reset"); }

/* ------------------------------------------------------------------ variables */

FUNCTION(fmi2GetReal, const uint32_t references[], size_t num, double values[])
{
    return get_numbers(instance, "fmi2GetReal", references, num, values, num);
}

FUNCTION(fmi2SetReal, const uint32_t references[], size_t num, const double values[])
{
    return set_numbers(instance, "fmi2SetReal", references, num, values, num);
}

NO_VARIABLES(Integer, int)
NO_VARIABLES(Boolean, fmi2Boolean)
NO_VARIABLES(String, fmi2String)

FUNCTION(fmi2GetDirectionalDerivative, const uint32_t unknowns[], size_t num_unknowns, const uint32_t knowns[],
         size_t num_knowns, const double seed[], double result[])
{
    return get_slopes(instance, "fmi2GetDirectionalDerivative", unknowns, num_unknowns, knowns, num_knowns, seed, result);
}

FUNCTION(fmi2SetRealInputDerivatives, const uint32_t references[], size_t num, const int orders[], const double values[])
{
    (void)references; (void)orders; (void)values;
    return none(instance, "fmi2SetRealInputDerivatives", num);
}

FUNCTION(fmi2GetRealOutputDerivatives, const uint32_t references[], size_t num, const int orders[], double values[])
{
    (void)references; (void)orders; (void)values;
    return none(instance, "fmi2GetRealOutputDerivatives", num);
}

/* ------------------------------------------------------------------ saved states */

FUNCTION(fmi2GetFMUstate, void **state) { return get_state(instance, "fmi2GetFMUstate", state); }

FUNCTION(fmi2SetFMUstate, void *state) { return set_state(instance, "fmi2SetFMUstate", state); }

FUNCTION(fmi2FreeFMUstate, void **state) { return free_state(instance, "fmi2FreeFMUstate", state); }

FUNCTION(fmi2SerializedFMUstateSize, void *state, size_t *size)
{
    return serialized_size(instance, "fmi2SerializedFMUstateSize", state, size);
}

FUNCTION(fmi2SerializeFMUstate, void *state, unsigned char bytes[], size_t size)
{
    return serialize(instance, "fmi2SerializeFMUstate", state, bytes, size);
}

FUNCTION(fmi2DeSerializeFMUstate, const unsigned char bytes[], size_t size, void **state)
{
    return deserialize(instance, "fmi2DeSerializeFMUstate", bytes, size, state);
}

/* ------------------------------------------------------------------ model exchange */

FUNCTION(fmi2EnterEventMode) { return enter_events(instance, "fmi2EnterEventMode"); }

FUNCTION(fmi2NewDiscreteStates, EventInfo *info)
{
    bool has_changed = false, is_ended = false;
    double time = INFINITY;
    Status status = update_discrete_states(instance, "fmi2NewDiscreteStates", &has_changed, &is_ended, &time);
    if (status != OK) return status;
    if (!info) return refuse(instance, "fmi2NewDiscreteStates", "the place for the event information is missing.");
    *info = (EventInfo){.is_ended = is_ended, .states_changed = has_changed, .has_next = isfinite(time), .next = isfinite(time) ? time : 0.0};
    return OK;
}

FUNCTION(fmi2EnterContinuousTimeMode)
{
    if (!may_call(instance, "fmi2EnterContinuousTimeMode", EVENTS)) return ERROR;
    Instance *mine = instance;
    mine->place.mode = CONTINUOUS;
    return OK;
}

FUNCTION(fmi2CompletedIntegratorStep, fmi2Boolean is_final, fmi2Boolean *needs_event_mode, fmi2Boolean *is_ended)
{
    (void)is_final;
    bool needs_events = false;
    Status status = complete_step(instance, "fmi2CompletedIntegratorStep", &needs_events);
    if (needs_event_mode) *needs_event_mode = needs_events;
    if (is_ended) *is_ended = 0;
    return status;
}

FUNCTION(fmi2SetTime, double time) { return set_time(instance, "fmi2SetTime", time); }

FUNCTION(fmi2SetContinuousStates, const double states[], size_t num)
{
    return set_states(instance, "fmi2SetContinuousStates", states, num);
}

FUNCTION(fmi2GetContinuousStates, double states[], size_t num)
{
    return get_states(instance, "fmi2GetContinuousStates", states, num);
}

FUNCTION(fmi2GetDerivatives, double derivatives[], size_t num)
{
    return get_derivatives(instance, "fmi2GetDerivatives", derivatives, num);
}

FUNCTION(fmi2GetEventIndicators, double indicators[], size_t num)
{
    return get_indicators(instance, "fmi2GetEventIndicators", indicators, num);
}

FUNCTION(fmi2GetNominalsOfContinuousStates, double nominals[], size_t num)
{
    return get_nominals(instance, "fmi2GetNominalsOfContinuousStates", nominals, num);
}

/* ------------------------------------------------------------------ co-simulation */

FUNCTION(fmi2DoStep, double time, double step, fmi2Boolean is_final)
{
    (void)is_final;
    Outlook outlook;
    Status status = advance_by(instance, "fmi2DoStep", time, step, &outlook);
    return status == OK && outlook.is_ended ? DISCARD : status;
}

FUNCTION(fmi2CancelStep)
{
    if (!may_call(instance, "fmi2CancelStep", STEPPING)) return ERROR;
    return refuse(instance, "fmi2CancelStep", "no step is in progress.");
}

/* Which statuses there are: fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated. */
enum { LAST_TIME = 2, IS_TERMINATED = 3 };

FUNCTION(fmi2GetRealStatus, int which, double *value)
{
    if (!may_call(instance, "fmi2GetRealStatus", ALIVE | TERMINATED)) return ERROR;
    if (which != LAST_TIME || !value) return refuse(instance, "fmi2GetRealStatus", "there is no status %d.", which);
    *value = *(double *)((Instance *)instance)->memory;
    return OK;
}

FUNCTION(fmi2GetBooleanStatus, int which, fmi2Boolean *value)
{
    if (!may_call(instance, "fmi2GetBooleanStatus", ALIVE | TERMINATED)) return ERROR;
    if (which != IS_TERMINATED || !value) return refuse(instance, "fmi2GetBooleanStatus", "there is no status %d.", which);
    *value = ((Instance *)instance)->place.has_ended;
    return OK;
}

#define NO_STATUS(name, type)                                                                          \
    FUNCTION(name, int which, type *value)                                                             \
    {                                                                                                  \
        (void)value;                                                                                   \
        if (!may_call(instance, #name, ALIVE | TERMINATED)) return ERROR;                              \
        return refuse(instance, #name, "there is no status %d.", which);                               \
    }
NO_STATUS(fmi2GetStatus, fmi2Status)
NO_STATUS(fmi2GetIntegerStatus, int)
NO_STATUS(fmi2GetStringStatus, fmi2String)
