"""The attributes of elements of MJCF in the schema of MuJoCo 4.0.0 (mj_printSchema), by the path of the element."""

from __future__ import annotations

# Of elements with the same attributes the paths are in one line.
_ATTRIBUTES = {
    "compiler":
        "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict coordinate "
        "discardvisual eulerseq fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough "
        "savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread",
    "option":
        "actuatorgroupdisable ccd_iterations ccd_tolerance cone density gravity impratio integrator "
        "iterations jacobian ls_iterations ls_tolerance magnetic noslip_iterations noslip_tolerance "
        "o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep "
        "tolerance viscosity wind",
    "option/flag":
        "actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp "
        "filterparent frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd "
        "override refsafe sensor sleep speculative spring warmstart",
    "body": "axisangle childclass euler fuse gravcomp mocap name pos quat simple sleep user xyaxes zaxis",
    "body/joint":
        "actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group "
        "limited margin name pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper "
        "springref springyield stiffness type user",
    "body/freejoint": "align group name",
    "body/geom":
        "adhesion axisangle castshadow class conaffinity condim contype density euler fitscale fluidcoef "
        "fluidshape friction fromto gap group hfield margin mass material mesh name pos priority quat rgba "
        "shellinertia size solimp solmix solref surfacevel type user xyaxes zaxis",
    "body/inertial": "axisangle diaginertia euler fullinertia mass pos quat xyaxes zaxis",
    "body/site": "axisangle class euler fromto group material mesh name pos quat rgba size type user xyaxes zaxis",
    "body/camera":
        "axisangle class euler focal focalpixel fovy ipd mode name output pos principal principalpixel "
        "projection quat resolution sensorsize target user xyaxes zaxis",
    "body/light":
        "active ambient attenuation bulbradius castshadow class cutoff diffuse dir directional exponent "
        "intensity mode name pos range softness specular target texture type",
    "asset/mesh":
        "builtin class content_type face file inertia material maxhullvert name normal params refpos refquat "
        "scale smoothnormal texcoord vertex",
    "asset/hfield": "content_type elevation file name ncol nrow size",
    "asset/texture":
        "builtin class colorspace content_type embed file fileback filedown filefront fileleft fileright "
        "fileup gridlayout gridsize height hflip mark markrgb name nchannel random rgb1 rgb2 type vflip width",
    "asset/material":
        "class emission metallic name reflectance rgba roughness shininess specular texrepeat texture "
        "texuniform",
    "contact/pair": "adhesion class condim friction gap geom1 geom2 margin name solimp solref solreffriction",
    "contact/exclude": "body1 body2 name",
    "equality/connect": "active anchor body1 body2 class name site1 site2 solimp solref",
    "equality/weld": "active anchor body1 body2 class name relpose site1 site2 solimp solref torquescale",
    "equality/joint": "active class joint1 joint2 name polycoef solimp solref",
    "equality/tendon": "active class name polycoef solimp solref tendon1 tendon2",
    "actuator/general":
        "actdim actearly actlimited actrange armature biasprm biastype body class cranklength cranksite "
        "ctrllimited ctrlrange damping delay dynprm dyntype ffrange forcelimited forcerange gainprm gaintype "
        "gear group inheritrange input interp joint jointinparent lengthrange name nsample refsite site "
        "slidersite tendon user velrange",
    "actuator/motor":
        "armature class cranklength cranksite ctrllimited ctrlrange damping delay forcelimited forcerange "
        "gear group interp joint jointinparent lengthrange name nsample refsite site slidersite tendon user",
    "actuator/position":
        "armature class cranklength cranksite ctrllimited ctrlrange damping dampratio delay forcelimited "
        "forcerange gear group inheritrange interp joint jointinparent kp kv lengthrange name nsample refsite "
        "site slidersite tendon timeconst user",
    "actuator/velocity":
        "armature class cranklength cranksite ctrllimited ctrlrange damping delay forcelimited forcerange "
        "gear group interp joint jointinparent kv lengthrange name nsample refsite site slidersite tendon "
        "user",
    "keyframe/key": "act ctrl mpos mquat name plastic qpos qvel time",
    (
        "sensor/touch sensor/accelerometer sensor/velocimeter sensor/gyro sensor/force sensor/torque "
        "sensor/magnetometer"
    ): "cutoff delay interp interval name noise nsample site user",
    "sensor/camprojection": "camera cutoff delay interp interval name noise nsample site user",
    "sensor/rangefinder": "camera cutoff data delay interp interval name noise nsample site user",
    (
        "sensor/jointpos sensor/jointvel sensor/jointactuatorfrc sensor/ballquat sensor/ballangvel "
        "sensor/jointlimitpos sensor/jointlimitvel sensor/jointlimitfrc"
    ): "cutoff delay interp interval joint name noise nsample user",
    (
        "sensor/tendonpos sensor/tendonvel sensor/tendonactuatorfrc sensor/tendonlimitpos sensor/tendonlimitvel "
        "sensor/tendonlimitfrc"
    ): "cutoff delay interp interval name noise nsample tendon user",
    "sensor/actuatorpos sensor/actuatorvel sensor/actuatorfrc":
        "actuator cutoff delay interp interval name noise nsample user",
    (
        "sensor/framepos sensor/framequat sensor/framexaxis sensor/frameyaxis sensor/framezaxis "
        "sensor/framelinvel sensor/frameangvel"
    ): "cutoff delay interp interval name noise nsample objname objtype refname reftype user",
    "sensor/framelinacc sensor/frameangacc":
        "cutoff delay interp interval name noise nsample objname objtype user",
    "sensor/subtreecom sensor/subtreelinvel sensor/subtreeangmom":
        "body cutoff delay interp interval name noise nsample user",
    "sensor/insidesite": "cutoff delay enclosed interp interval name noise nsample objname objtype site user",
    "sensor/distance sensor/normal sensor/fromto":
        "body1 body2 cutoff delay geom1 geom2 interp interval name noise nsample user",
    "sensor/contact":
        "body1 body2 cutoff data delay geom1 geom2 interp interval name noise nsample num reduce site "
        "subtree1 subtree2 user",
    "sensor/e_potential sensor/e_kinetic sensor/clock": "cutoff delay interp interval name noise nsample user",
    "sensor/tactile": "cutoff delay geom interp interval mesh name nsample user",
    "sensor/user": "cutoff datatype dim name needstage noise objname objtype user",
    "sensor/plugin": "cutoff instance name objname objtype plugin refname reftype user",
}

MJCF_ATTRIBUTES = {path: names.split() for paths, names in _ATTRIBUTES.items() for path in paths.split()}
