"""What stands where in the list of integers of the plant's operations (operations.py, ../contact/step_operation.py)."""

from __future__ import annotations

import itertools

_number = itertools.count()
FAILURE = next(_number)  # address
DYNAMICS = next(_number)  # addresses of kernels: state_derivatives, or discrete_step
KINEMATICS = next(_number)  # kinematics, where there are force elements
FORCE_ELEMENTS = next(_number)  # force_elements, the same
FIND_LIMITS = next(_number)  # find_limits, or in continuous time limit_forces, where joints have limits
NUM_MOBODS = next(_number)
NUM_PARAMETERS = next(_number)  # records, those of path segments included
NUM_Q = next(_number)
NUM_V = next(_number)
STATE = next(_number)  # place of x
RESULT = next(_number)  # place of xdot, or of the next x
TIME_STEP = next(_number)  # place among the constants
PARAMETERS = next(_number)  # place
GRAVITY = next(_number)  # place
TOPOLOGY = next(_number)  # from here on addresses
POSITION = next(_number)
VELOCITY = next(_number)
SCRATCH = next(_number)
TAU = next(_number)
F_APPLIED = next(_number)  # shape [num_mobods, 6], kept at zero where there are no force elements
NUM_PITCHES = next(_number)
PITCHES = next(_number)  # which positions are pitch angles
NUM_ELEMENTS = next(_number)
ELEMENTS = next(_number)
CONSTANTS = next(_number)  # place
NUM_INPUTS = next(_number)  # of actuation u
DRIVEN = next(_number)  # the velocity that each drives
LIMITS = next(_number)  # effort limits
U = next(_number)  # what the actuators exert
APPLIED = next(_number)  # place of generalized forces, or -1
NUM_LIMITS = next(_number)  # of joints
JOINT_LIMITS = next(_number)
LIMIT_STIFFNESS = next(_number)  # of each limit, in continuous time
LIMIT_DISSIPATION = next(_number)
SAMPLE = next(_number)  # where a copy of the last x, result, u and F_applied goes, or 0
COUNT = next(_number)  # how many samples there were

# Of ../contact/step_operation.py alone. Its integers are two such lists, one after the other, that differ in arrays:
LENGTH = next(_number)  # of one list
TURN = next(_number)  # address: which list's arrays hold the last step that has succeeded, and whether somebody has
# computed the generalized forces of its contacts
# PD controllers:
NUM_CONTROLLERS = next(_number)
CONTROL = next(_number)  # addresses of kernels: control, put_desired_state, controlled_step
PUT_DESIRED_STATE = next(_number)
CONTROLLED_STEP = next(_number)
ACTUATED_MOBODS = next(_number)  # from here on addresses, see kernels/checked_arrays.py and drives.py
FEEDFORWARD = next(_number)
CONTROLLED_INPUTS = next(_number)
CONTROLLED_POSITIONS = next(_number)
PROPORTIONAL_GAINS = next(_number)
DERIVATIVE_GAINS = next(_number)
DESIRED = next(_number)
DRIVE_NUMBERS = next(_number)
DRIVE_VALUES = next(_number)
DRIVE_WORK = next(_number)
DRIVE_EFFORT = next(_number)
# Geometries, see geometry/proximity/README.md:
NUM_GEOMETRIES = next(_number)  # 0 if nothing can touch
GEOMETRY_POSES = next(_number)  # addresses of kernels: geometry_poses, find_candidates, contact_manifolds
FIND_CANDIDATES = next(_number)
CONTACT_MANIFOLDS = next(_number)
GEOMETRY_MOBODS = next(_number)  # from here on addresses, but for sizes
X_BG = next(_number)
X_WG = next(_number)
GEOMETRIES = next(_number)
FRAMES = next(_number)
FILTER_SIZE = next(_number)
FILTERED = next(_number)
BOXES = next(_number)
GRID_SIZE = next(_number)
GRID = next(_number)
PAIR_CAPACITY = next(_number)
PAIRS = next(_number)
PROXIMITY_WORK = next(_number)
CONTACT_CAPACITY = next(_number)
CONTACTS = next(_number)
HULLS = next(_number)  # size and address of each of the arrays of Hulls
NUM_HULL_ARRAYS = 7
_number = itertools.count(HULLS + 2 * NUM_HULL_ARRAYS)
# The contact problem, see contact/plant_step.py:
CAN_HOLD = next(_number)  # whether there may be one
START_STEP = next(_number)  # addresses of kernels: start_step, contact_velocities or tamsi_..., next_state
SOLVER = next(_number)
NEXT_STATE = next(_number)
NUM_TREES = next(_number)
TREES = next(_number)  # from here on addresses, but for sizes
TREE_OF_MOBOD = next(_number)
TREE_OF_VELOCITY = next(_number)
MATERIALS = next(_number)
NUM_LINKS = next(_number)
LINKS = next(_number)
DRIVES = next(_number)
SETTINGS = next(_number)
NEAR_RIGID_THRESHOLD = next(_number)  # place among the constants
MATRIX_SIZE = next(_number)
MATRIX = next(_number)
IS_LOCKED = next(_number)
V_NEXT = next(_number)
CONSTRAINT_CAPACITY = next(_number)
CONSTRAINTS = next(_number)
ROW_CAPACITY = next(_number)
ROWS = next(_number)
IMPULSES = next(_number)
JACOBIAN_CAPACITY = next(_number)
JACOBIAN = next(_number)
CONTACT_FRAMES = next(_number)
SOURCE = next(_number)
COUNTS = next(_number)
BLOCK_CAPACITY = next(_number)
WORK_SIZE = next(_number)
WORK = next(_number)
INTEGER_WORK_SIZE = next(_number)
INTEGER_WORK = next(_number)
STATISTICS = next(_number)
HELD = next(_number)  # how many candidates and contacts a step had, the former -1 if it had nothing to hold
LACK = next(_number)  # how many candidates and contacts there is no room for, and whether the solver lacks room

NUM_SOURCES = next(_number)  # of actuation
NUM_DESIRED_SOURCES = next(_number)  # of desired states
NUM_FIELDS = next(_number)  # then for each source: number of inputs, address of which they are, place
